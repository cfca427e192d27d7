// A loop over arrays, by vectors and then by single elements. Compiled once per instruction set.
#if defined(HEADRACE_OP_SIMD_FOR_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_FOR_VECTORS_INL_H_
#undef HEADRACE_OP_SIMD_FOR_VECTORS_INL_H_
#else
#define HEADRACE_OP_SIMD_FOR_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls step(d, i) for whole vectors of T from 0 to count, step(one, i) for the rest.
template <class T, class F>
HWY_INLINE void for_vectors(int64_t count, F&& step) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t width = hn::Lanes(d), n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + width <= n; i += width) step(d, i);
  for (; i < n; ++i) step(one, i);
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
