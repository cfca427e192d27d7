// Conversions between float32 and the half types over dense arrays, to nearest even. Any thread.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace headrace::simd {

void widen(const Float16* from, float* to, int64_t n) noexcept;
void widen(const Bfloat16* from, float* to, int64_t n) noexcept;
void narrow(const float* from, Float16* to, int64_t n) noexcept;
void narrow(const float* from, Bfloat16* to, int64_t n) noexcept;

}  // namespace headrace::simd
