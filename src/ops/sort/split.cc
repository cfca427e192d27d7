#include "ops/sort/split.h"

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sort/split.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/compress-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Key>
int64_t split_keys(const Key* from, Key* to, int64_t count, Key pivot) {
  const auto n = static_cast<size_t>(count);
  size_t i = 0, begin = 0, end = n;  // what is still free in `to`
#if HWY_TARGET != HWY_SCALAR
  const CompressTag<Key> d;
  const size_t width = hn::Lanes(d);
  const auto limit = hn::Set(d, pivot);
  // Whole vectors are stored, of which the lanes that do not belong there fall on what is still free.
  for (; end - begin >= 2 * width; i += width) {
    const auto keys = hn::LoadU(d, from + i);
    const auto less = hn::Lt(keys, limit);
    const size_t lesser = hn::CountTrue(d, less);
    hn::StoreU(compressed(d, keys, less), d, to + begin);
    hn::StoreU(hn::Reverse(d, compressed(d, keys, hn::Not(less))), d, to + end - width);
    begin += lesser;
    end -= width - lesser;
  }
#endif
  for (; i < n; ++i) {
    if (from[i] < pivot)
      to[begin++] = from[i];
    else
      to[--end] = from[i];
  }
  return static_cast<int64_t>(begin);
}

int64_t split32(const uint32_t* from, uint32_t* to, int64_t n, uint32_t pivot) {
  return split_keys(from, to, n, pivot);
}
int64_t split64(const uint64_t* from, uint64_t* to, int64_t n, uint64_t pivot) {
  return split_keys(from, to, n, pivot);
}

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(split32);
HWY_EXPORT(split64);

int64_t split(const uint32_t* from, uint32_t* to, int64_t n, uint32_t pivot) noexcept {
  return HWY_DYNAMIC_DISPATCH(split32)(from, to, n, pivot);
}
int64_t split(const uint64_t* from, uint64_t* to, int64_t n, uint64_t pivot) noexcept {
  return HWY_DYNAMIC_DISPATCH(split64)(from, to, n, pivot);
}

}  // namespace headrace
#endif
