// Steps of batches of sequences of different lengths.
#pragma once

#include <cstdint>

namespace headrace::device {

// As ops/nn/sequence.h says them.
enum class SequenceMove { kMask, kLast, kSpread, kReverse };

struct SequenceArguments {
  const void* from;
  const void* lengths;  // null: all are whole
  void* to;
  int64_t time, batch, item;          // elements of a step of a sequence
  int64_t time_stride, batch_stride;  // of what has steps
  uint64_t filling;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <SequenceMove kMove, class Length>
inline int64_t length_of(const SequenceArguments& a, int64_t sequence) {
  if (!a.lengths) return a.time;
  constexpr bool kHasLast = kMove == SequenceMove::kLast || kMove == SequenceMove::kSpread;
  const auto length = numeric_cast<int64_t>(static_cast<const Length*>(a.lengths)[sequence]);
  const int64_t least = kHasLast && a.time > 0 ? 1 : 0;
  return length < least ? least : length < a.time ? length : a.time;
}

// Elements are only moved, so T is an unsigned integer of their size.
template <class T, SequenceMove kMove, class Length>
inline void move_sequences(const SequenceArguments& a) {
  const int64_t steps = kMove == SequenceMove::kLast ? 1 : a.time, size = a.batch * steps * a.item;
  const auto* const from = static_cast<const T*>(a.from);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < size;
       i += gridDim.x * static_cast<int64_t>(blockDim.x)) {
    const int64_t element = i % a.item, sequence = i / a.item % a.batch, t = i / a.item / a.batch;
    const int64_t length = length_of<kMove, Length>(a, sequence), place = sequence * a.batch_stride + element;
    if constexpr (kMove == SequenceMove::kLast)
      static_cast<T*>(a.to)[i] = from[(length - 1) * a.time_stride + place];
    else {
      T value = static_cast<T>(a.filling);
      if constexpr (kMove == SequenceMove::kSpread) {
        if (t == length - 1) value = from[sequence * a.item + element];
      } else if constexpr (kMove == SequenceMove::kReverse) {
        value = from[(t < length ? length - 1 - t : t) * a.time_stride + place];
      } else if (t < length) {
        value = from[t * a.time_stride + place];
      }
      static_cast<T*>(a.to)[t * a.time_stride + place] = value;
    }
  }
}

}  // namespace headrace::device
#endif
