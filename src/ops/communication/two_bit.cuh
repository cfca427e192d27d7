// Gradients at two bits an element.
#pragma once

#include <cstdint>

namespace headrace::device {

struct TwoBitArguments {
  const float* gradient;
  float* residual;  // or the gradient that is unpacked
  uint8_t* packed;
  int64_t count, bytes;
  double threshold;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "ops/communication/two_bit_code.h"

namespace headrace::device {

// A thread to a byte; the last ones may hold no element.
inline void pack_two_bits(const TwoBitArguments& a) {
  for (int64_t byte = first_of_thread(); byte < a.bytes; byte += all_threads()) {
    unsigned bits = 0;
    for (int64_t i = TwoBits::kPerByte * byte; i < TwoBits::kPerByte * (byte + 1) && i < a.count; ++i) {
      float value = a.residual[i] + a.gradient[i];
      bits |= TwoBits::encode(value, static_cast<float>(a.threshold)) << TwoBits::shift_of(i);
      a.residual[i] = value;
    }
    a.packed[byte] = static_cast<uint8_t>(bits);
  }
}

inline void unpack_two_bits(const TwoBitArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads())
    a.residual[i] = TwoBits::decode((a.packed[i / TwoBits::kPerByte] >> TwoBits::shift_of(i)) & 3u,
                                    static_cast<float>(a.threshold));
}

}  // namespace headrace::device
#endif
