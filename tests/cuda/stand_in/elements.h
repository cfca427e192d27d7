// Numbers in memory of devices, in the types that NVIDIA's libraries compute in.
#pragma once

#include <library_types.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace stand_in {

// Whether the process was told this (docs/cuda.md).
inline bool is_set(const char* variable, std::string_view value) {
  const char* const text = std::getenv(variable);
  return text && text == value;
}
inline bool may_round_to_tf32() { return is_set("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION", "1"); }

inline float from_half(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}
inline uint16_t to_half(float value) {
  const auto half = static_cast<_Float16>(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}
inline float from_brain(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
inline uint16_t to_brain(float value) {
  uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  if ((word & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((word >> 16) | 0x40U);
  return static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

inline double load(cudaDataType_t type, const char* data, int64_t place) {
  uint16_t bits = 0;
  float narrow = 0;
  double wide = 0;
  switch (type) {
    case CUDA_R_64F:
      std::memcpy(&wide, data + place * 8, 8);
      return wide;
    case CUDA_R_32F:
      std::memcpy(&narrow, data + place * 4, 4);
      return narrow;
    default:
      std::memcpy(&bits, data + place * 2, 2);
      return type == CUDA_R_16F ? from_half(bits) : from_brain(bits);
  }
}

inline void store(cudaDataType_t type, char* data, int64_t place, double value) {
  const auto narrow = static_cast<float>(value);
  const uint16_t bits = type == CUDA_R_16F ? to_half(narrow) : to_brain(narrow);
  if (type == CUDA_R_64F) std::memcpy(data + place * 8, &value, 8);
  if (type == CUDA_R_32F) std::memcpy(data + place * 4, &narrow, 4);
  if (type == CUDA_R_16F || type == CUDA_R_16BF) std::memcpy(data + place * 2, &bits, 2);
}

}  // namespace stand_in
