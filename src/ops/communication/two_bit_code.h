// Elements of gradients in two bits, read by the compilers of host and device.
#pragma once

#include <cstdint>

namespace headrace {

// 11 is +threshold, 10 is -threshold, 00 is nothing.
struct TwoBits {
  static constexpr int64_t kPerByte = 4;
  static constexpr unsigned kPlus = 0b11, kMinus = 0b10;

  // Of an element in its byte: the first one is in the highest bits.
  static unsigned shift_of(int64_t element) { return static_cast<unsigned>(6 - 2 * (element % kPerByte)); }

  // Takes off `value` what its bits stand for.
  static unsigned encode(float& value, float threshold) {
    const bool plus = value >= threshold, minus = value <= -threshold;
    value = value - (plus ? threshold : 0.0f) + (minus ? threshold : 0.0f);
    return plus ? kPlus : minus ? kMinus : 0u;
  }
  static float decode(unsigned bits, float threshold) {
    return bits == kPlus ? threshold : bits == kMinus ? -threshold : 0.0f;
  }
};

}  // namespace headrace
