// Sums over neighbouring channels.
#pragma once

#include <cstdint>

namespace headrace::device {

struct WindowSumArguments {
  const void* from;
  void* to;
  int64_t count, channels, inner, beside;  // beside: channels on either side
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T, class Sum>
inline void channel_window_sums(const WindowSumArguments& a) {
  const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.count; i += step) {
    const int64_t channel = i / a.inner % a.channels;
    const int64_t first = channel < a.beside ? 0 : channel - a.beside;
    const int64_t last = channel + a.beside < a.channels ? channel + a.beside : a.channels - 1;
    Sum sum{};
    for (int64_t k = first; k <= last; ++k)
      sum += numeric_cast<Sum>(static_cast<const T*>(a.from)[i + (k - channel) * a.inner]);
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
