// Conversion of one value between element types, defined for every value: the meaning of a cast everywhere.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"

namespace headrace {

template <class T>
inline constexpr bool is_real =
    std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// Truncates towards zero. What the integer type cannot hold (NaN too) becomes its lowest value, as x86 does.
template <class Integer, class Float>
inline Integer truncate_to(Float value) noexcept {
  constexpr Float kLimit = static_cast<Float>(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
  constexpr Integer kLowest = std::numeric_limits<Integer>::min();
  return value >= -kLimit && value < kLimit ? static_cast<Integer>(value) : kLowest;
}

// To bool: whether the value is not zero. Float to integer: truncates, then wraps to the narrower type. Integer to
// integer wraps. double to a half type rounds to float first.
template <class To, class From>
inline To numeric_cast(From value) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Float16> || std::is_same_v<From, Bfloat16>) {
    return numeric_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (is_real<To>) {
    if constexpr (std::is_floating_point_v<To>) {
      return static_cast<To>(value);
    } else {
      return To(static_cast<float>(value));
    }
  } else if constexpr (!std::is_floating_point_v<From>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From kHalf = static_cast<From>(uint64_t{1} << 63);
    return value >= kHalf && value < 2 * kHalf ? static_cast<uint64_t>(value)
                                               : static_cast<uint64_t>(truncate_to<int64_t>(value));
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
    return static_cast<To>(truncate_to<int64_t>(value));
  } else {
    return static_cast<To>(truncate_to<int32_t>(value));
  }
}

}  // namespace headrace
