#include "op/simd/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/memory.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::simd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void stream_vectors(uint8_t* to, const uint8_t* from, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t width = hn::Lanes(d);
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) % width;
  size_t i = misaligned == 0 ? 0 : width - misaligned;
  if (i > bytes) i = bytes;
  std::memcpy(to, from, i);
  for (; i + width <= bytes; i += width) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace
}  // namespace headrace::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::simd {

HWY_EXPORT(stream_vectors);

int64_t stream_bytes() noexcept {
  constexpr int64_t kLeast = int64_t{8} << 20, kMost = int64_t{16} << 20;
  static const int64_t bytes = std::clamp<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE) / 2, kLeast, kMost);
  return bytes;
}

void stream_copy(void* to, const void* from, size_t bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(stream_vectors)(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), bytes);
}

void stream_fence() noexcept { hwy::FlushStream(); }

}  // namespace headrace::simd
#endif
