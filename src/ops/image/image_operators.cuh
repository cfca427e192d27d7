// Images as data sets hold them, and as networks take them.
#pragma once

#include <cstdint>

namespace headrace::device {

struct ImageByteArguments {
  const uint8_t* from;
  float* to;
  int64_t count, plane, channels;  // count: of elements
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"

namespace headrace::device {

inline void divide_bytes(const ImageByteArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t row = i / a.plane, image = row / a.channels * a.plane * a.channels;
    a.to[i] = static_cast<float>(a.from[image + i % a.plane * a.channels + row % a.channels]) / 255.0f;
  }
}

}  // namespace headrace::device
#endif
