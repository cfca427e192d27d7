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

ReachFn<float> reach_float() { return reach<float>; }
ReachFn<double> reach_double() { return reach<double>; }
ReachFn<int32_t> reach_int32() { return reach<int32_t>; }
ReachFn<int64_t> reach_int64() { return reach<int64_t>; }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(reach_float);
HWY_EXPORT(reach_double);
HWY_EXPORT(reach_int32);
HWY_EXPORT(reach_int64);

template <>
ReachFn<float> positions_that_reach<float>() noexcept {
  static const ReachFn<float> chosen = HWY_DYNAMIC_DISPATCH(reach_float)();
  return chosen;
}
template <>
ReachFn<double> positions_that_reach<double>() noexcept {
  static const ReachFn<double> chosen = HWY_DYNAMIC_DISPATCH(reach_double)();
  return chosen;
}
template <>
ReachFn<int32_t> positions_that_reach<int32_t>() noexcept {
  static const ReachFn<int32_t> chosen = HWY_DYNAMIC_DISPATCH(reach_int32)();
  return chosen;
}
template <>
ReachFn<int64_t> positions_that_reach<int64_t>() noexcept {
  static const ReachFn<int64_t> chosen = HWY_DYNAMIC_DISPATCH(reach_int64)();
  return chosen;
}

}  // namespace headrace
#endif
