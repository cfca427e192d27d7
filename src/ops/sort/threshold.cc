#include "ops/sort/threshold.h"

#include <bit>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sort/threshold.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
int64_t reach(const T* HWY_RESTRICT x, int64_t n, T limit, bool ascending, int32_t* HWY_RESTRICT positions) noexcept {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limits = hn::Set(d, limit);
  int64_t count = 0, i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto values = hn::LoadU(d, x + i);
    const auto short_of = ascending ? hn::Gt(values, limits) : hn::Lt(values, limits);
    const auto reached = hn::Not(short_of);
    if (hn::AllFalse(d, reached)) continue;
    uint8_t bits[8] = {};
    hn::StoreMaskBits(d, reached, bits);
    for (uint64_t left = std::bit_cast<uint64_t>(bits); left; left &= left - 1)
      positions[count++] = static_cast<int32_t>(i + std::countr_zero(left));
  }
  for (; i < n; ++i)
    if (!(ascending ? x[i] > limit : x[i] < limit)) positions[count++] = static_cast<int32_t>(i);
  return count;
}

}  // namespace

ReachTable make_reach_table() { return {reach<float>, reach<double>, reach<int32_t>, reach<int64_t>, reach<uint64_t>}; }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(make_reach_table);

const ReachTable& reach_table() noexcept {
  static const ReachTable table = HWY_DYNAMIC_DISPATCH(make_reach_table)();
  return table;
}

}  // namespace headrace
#endif
