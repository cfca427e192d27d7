#include "ops/nn/log_sums.h"

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nn/log_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/elementary-inl.h"
#include "op/simd/for_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void sums(const double* a, const double* b, const double* c, const double* factor, double* sums, int64_t n) noexcept {
  for_vectors<double>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i),
               z = hn::Add(hn::LoadU(d, c + i), hn::LoadU(d, factor + i));
    // Finite where all three are minus infinity, so that their differences to it are.
    const auto top = hn::Max(hn::Max(x, hn::Max(y, z)), hn::Set(d, -1e300));
    const auto sum =
        hn::Add(exp_of(d, hn::Sub(x, top)), hn::Add(exp_of(d, hn::Sub(y, top)), exp_of(d, hn::Sub(z, top))));
    hn::StoreU(hn::Add(top, log_of(d, sum)), d, sums + i);
  });
}

void shares(const double* a, const double* b, double total, double* shares, int64_t n) noexcept {
  for_vectors<double>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(exp_of(d, hn::Sub(sum, hn::Set(d, total))), d, shares + i);
  });
}

}  // namespace

LogSumKernels kernels() { return {sums, shares}; }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(kernels);

const LogSumKernels& log_sum_kernels() noexcept {
  static const LogSumKernels found = HWY_DYNAMIC_DISPATCH(kernels)();
  return found;
}

}  // namespace headrace
#endif
