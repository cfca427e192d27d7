// Batches of sequences of different lengths.
#pragma once

#include <cstdint>

namespace headrace::device {

// As ops/nn/sequence.h counts them.
enum class SequenceWork { kMask, kLast, kSpread, kReverse };

struct SequenceArguments {
  const void* from;
  const void* lengths;  // null: all are whole
  void* to;
  int64_t time, batch, item;  // elements of an item
  int64_t by_time;            // data are (time, batch, item), else (batch, time, item)
  int64_t size;               // of the result
  uint64_t filled;            // what stands behind the end
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// T: unsigned integers of the size of the elements.
template <class T, class Length, SequenceWork kWork>
inline void run_sequences(const SequenceArguments& a) {
  constexpr bool kHasLast = kWork == SequenceWork::kLast || kWork == SequenceWork::kSpread;
  const T* const from = static_cast<const T*>(a.from);
  for (int64_t i = first_of_thread(); i < a.size; i += all_threads()) {
    const int64_t place = i / a.item, j = i % a.item;
    const int64_t n = kWork == SequenceWork::kLast ? place : a.by_time ? place % a.batch : place / a.time;
    const int64_t t = kWork == SequenceWork::kLast ? 0 : a.by_time ? place / a.batch : place % a.time;
    const auto offset = [&](int64_t at) { return (a.by_time ? at * a.batch + n : n * a.time + at) * a.item + j; };
    int64_t length = a.lengths ? numeric_cast<int64_t>(static_cast<const Length*>(a.lengths)[n]) : a.time;
    if (length < (kHasLast ? 1 : 0)) length = kHasLast ? 1 : 0;
    if (length > a.time) length = a.time;
    T value;
    if constexpr (kWork == SequenceWork::kMask)
      value = t < length ? from[i] : static_cast<T>(a.filled);
    else if constexpr (kWork == SequenceWork::kLast)
      value = from[offset(length - 1)];
    else if constexpr (kWork == SequenceWork::kSpread)
      value = t == length - 1 ? from[n * a.item + j] : T{0};
    else
      value = from[offset(t < length ? length - 1 - t : t)];
    static_cast<T*>(a.to)[i] = value;
  }
}

}  // namespace headrace::device
#endif
