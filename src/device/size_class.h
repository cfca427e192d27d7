// Size classes of allocators: multiples of 64 bytes up to 1 KiB, then eight per doubling, so that rounding up
// wastes at most an eighth.
#pragma once

#include <bit>
#include <cstddef>

namespace headrace::size_class {

inline constexpr size_t kGranule = 64;
inline constexpr size_t kLinear = 1024;  // up to here every multiple of the granule is a class
inline constexpr int kLinearClasses = static_cast<int>(kLinear / kGranule);
inline constexpr int kStepsLog2 = 3;  // classes per doubling
inline constexpr size_t kLargest = size_t{1} << 46;

// `bytes` is from 1 to kLargest.
constexpr int of(size_t bytes) noexcept {
  if (bytes <= kLinear) return static_cast<int>((bytes - 1) / kGranule);
  const int doubling = std::bit_width(bytes - 1) - 1;  // 2^doubling < bytes <= 2^(doubling + 1), apart from the ends
  const size_t step = (bytes - 1) >> (doubling - kStepsLog2);
  const int first = std::bit_width(kLinear) - 1;
  return kLinearClasses + ((doubling - first) << kStepsLog2) + static_cast<int>(step - (1u << kStepsLog2));
}

// The class for a request of any size up to kLargest: zero bytes have a block, too.
constexpr int of_request(size_t bytes) noexcept { return of(bytes > 0 ? bytes : 1); }

// The size of the blocks of a class: the largest `bytes` with of(bytes) == index.
constexpr size_t size(int index) noexcept {
  if (index < kLinearClasses) return static_cast<size_t>(index + 1) * kGranule;
  const int above = index - kLinearClasses;
  const int doubling = std::bit_width(kLinear) - 1 + (above >> kStepsLog2);
  const size_t step = static_cast<size_t>(above & ((1 << kStepsLog2) - 1)) + (1u << kStepsLog2) + 1;
  return step << (doubling - kStepsLog2);
}

inline constexpr int kCount = of(kLargest) + 1;

static_assert(of(64) == 0 && of(65) == 1 && of(1024) == 15 && of(1025) == 16 && size(16) == 1152 && size(23) == 2048);

}  // namespace headrace::size_class
