// float16 and bfloat16 as storage types: arithmetic happens in float32. Conversions round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace headrace {

struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value) noexcept {
    uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40u);  // keep a NaN a (quiet) NaN
      return;
    }
    bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  operator float() const noexcept { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

#ifdef __CUDACC_RTC__  // the compiler of kernels for GPUs, which knows no _Float16
inline uint16_t float16_bits(float value) noexcept {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
inline float float16_value(uint16_t bits) noexcept {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
#else
inline uint16_t float16_bits(float value) noexcept { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
inline float float16_value(uint16_t bits) noexcept { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
#endif

struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) noexcept : bits(float16_bits(value)) {}
  operator float() const noexcept { return float16_value(bits); }
};

}  // namespace headrace
