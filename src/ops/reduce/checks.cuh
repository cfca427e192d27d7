// Reductions to one truth value, which is 1 so far: who finds otherwise writes 0.
#pragma once

#include <cstdint>

namespace headrace::device {

struct CloseArguments {
  const void* a;
  const void* b;
  uint8_t* to;
  int64_t count, equal_nan;
  double rtol, atol;
};

struct AllTrueArguments {
  const uint8_t* from;
  uint8_t* to;
  int64_t count;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"
#include "ops/reduce/closeness.h"

namespace headrace::device {

template <class T>
inline void are_all_close(const CloseArguments& a) {
  bool close = true;
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads())
    close = close && is_close(numeric_cast<double>(static_cast<const T*>(a.a)[i]),
                              numeric_cast<double>(static_cast<const T*>(a.b)[i]), a.rtol, a.atol, a.equal_nan != 0);
  if (!close) *a.to = 0;
}

inline void are_all_true(const AllTrueArguments& a) {
  bool holds = true;
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) holds = holds && a.from[i] != 0;
  if (!holds) *a.to = 0;
}

}  // namespace headrace::device
#endif
