// Sums over neighbouring channels.
#pragma once

#include <cstdint>

namespace headrace::device {

struct WindowSumArguments {
  const void* from;
  void* to;
  int64_t count, channels, inner, beside;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class Compute, class T>
inline void sum_channel_windows(const WindowSumArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t channel = i / a.inner % a.channels;
    const int64_t before = channel < a.beside ? channel : a.beside;
    const int64_t after = a.channels - 1 - channel < a.beside ? a.channels - 1 - channel : a.beside;
    Compute sum = 0;
    for (int64_t k = -before; k <= after; ++k)
      sum += numeric_cast<Compute>(static_cast<const T*>(a.from)[i + k * a.inner]);
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
