#include "ops/reduce/combine.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "op/formula/program.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/combine.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <Combine how, class T>
using Accumulator = std::conditional_t<
    how == Combine::kMax || how == Combine::kMin, T,
    std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, T>>>;

template <Combine how, class A>
constexpr A identity() {
  using Limits = std::numeric_limits<A>;
  if (how == Combine::kSum) return A{0};
  if (how == Combine::kProd) return A{1};
  if (how == Combine::kMax) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

template <Combine how, class A>
HWY_INLINE A combine(A a, A x) {
  if constexpr (how == Combine::kSum || how == Combine::kProd) {
    // Integers wrap.
    using U = std::conditional_t<std::is_integral_v<A>, std::make_unsigned<A>, std::type_identity<A>>::type;
    const U left = static_cast<U>(a), right = static_cast<U>(x);
    return static_cast<A>(how == Combine::kSum ? left + right : left * right);
  } else if constexpr (how == Combine::kMax) {
    return ((x > a) | (x != x)) ? x : a;
  } else {
    return ((x < a) | (x != x)) ? x : a;
  }
}

template <Combine how, class D, class V = hn::Vec<D>>
HWY_INLINE V combine_vectors(D, V a, V x) {
  if constexpr (how == Combine::kSum) {
    return hn::Add(a, x);
  } else if constexpr (how == Combine::kProd) {
    return hn::Mul(a, x);
  } else {
    const auto better = how == Combine::kMax ? hn::Gt(x, a) : hn::Lt(x, a);
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(better, hn::IsNaN(x)), x, a);
    } else {
      return hn::IfThenElse(better, x, a);
    }
  }
}

// Elements that lanes may take up before they are added to the accumulator: bounds the error of float64 sums, whatever
// their length. A tile: elements that are computed tile by tile give the bits of those that lie in memory.
constexpr int64_t kBlock = kTile;

// As many elements as a vector of accumulators has, in the accumulators' type.
template <class DA, class T>
HWY_INLINE hn::Vec<DA> load_as(DA d, const T* x) {
  if constexpr (std::is_same_v<hn::TFromD<DA>, T>)
    return hn::LoadU(d, x);
  else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, DA>(), x));
}

template <Combine how, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D d, hn::Vec<D> v) {
  using A = hn::TFromD<D>;
  if constexpr (how == Combine::kSum) return hn::GetLane(hn::SumOfLanes(d, v));
  alignas(64) A lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  A result = lanes[0];
  for (size_t k = 1; k < hn::Lanes(d); ++k) result = combine<how>(result, lanes[k]);
  return result;
}

#if HWY_TARGET != HWY_SCALAR
// A block of float32: elements in fours, as conversions to double take longer than the additions.
HWY_INLINE double sum_fours(const float* x, size_t n) {
  const hn::ScalableTag<float> f;
  const hn::Half<decltype(f)> half;
  const hn::ScalableTag<double> d;
  const size_t width = hn::Lanes(f);
  auto lower = hn::Zero(d), upper = lower;
  size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    const auto left = hn::Add(hn::LoadU(f, x + i), hn::LoadU(f, x + i + width));
    const auto right = hn::Add(hn::LoadU(f, x + i + 2 * width), hn::LoadU(f, x + i + 3 * width));
    const auto four = hn::Add(left, right);
    lower = hn::Add(lower, hn::PromoteTo(d, hn::LowerHalf(half, four)));
    upper = hn::Add(upper, hn::PromoteTo(d, hn::UpperHalf(half, four)));
  }
  for (; i + width <= n; i += width) {
    lower = hn::Add(lower, load_as(d, x + i));
    upper = hn::Add(upper, load_as(d, x + i + width / 2));
  }
  double result = fold_lanes<Combine::kSum>(d, hn::Add(lower, upper));
  for (; i < n; ++i) result += static_cast<double>(x[i]);
  return result;
}
#endif

// Lanes side by side in registers, folded pairwise.
template <Combine how, class T>
HWY_INLINE Accumulator<how, T> combine_block(const T* x, size_t n) {
  using A = Accumulator<how, T>;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (how == Combine::kSum && std::is_same_v<T, float>) return sum_fours(x, n);
#endif
  const hn::ScalableTag<A> d;
  const size_t width = hn::Lanes(d);
  auto v0 = hn::Set(d, identity<how, A>()), v1 = v0, v2 = v0, v3 = v0;
  size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    v0 = combine_vectors<how>(d, v0, load_as(d, x + i));
    v1 = combine_vectors<how>(d, v1, load_as(d, x + i + width));
    v2 = combine_vectors<how>(d, v2, load_as(d, x + i + 2 * width));
    v3 = combine_vectors<how>(d, v3, load_as(d, x + i + 3 * width));
  }
  for (; i + width <= n; i += width) v0 = combine_vectors<how>(d, v0, load_as(d, x + i));
  A result =
      fold_lanes<how>(d, combine_vectors<how>(d, combine_vectors<how>(d, v0, v1), combine_vectors<how>(d, v2, v3)));
  for (; i < n; ++i) result = combine<how>(result, static_cast<A>(x[i]));
  return result;
}

#if HWY_TARGET != HWY_SCALAR
template <Combine how, class V>
HWY_INLINE V plain_extreme(V a, V x) {
  return how == Combine::kMax ? hn::Max(x, a) : hn::Min(x, a);
}

// The extreme by instructions that may pass over a NaN. False where the sum of the elements is NaN, as it is where one
// of them is, and where infinities of both signs are among them: then `result` says nothing.
template <Combine how, class T>
HWY_INLINE bool find_plain_extreme(const T* x, size_t n, T& result) {
  const hn::ScalableTag<T> d;
  const size_t width = hn::Lanes(d);
  auto v0 = hn::Set(d, identity<how, T>()), v1 = v0, v2 = v0, v3 = v0;
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    const auto x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + i + width);
    const auto x2 = hn::LoadU(d, x + i + 2 * width), x3 = hn::LoadU(d, x + i + 3 * width);
    v0 = plain_extreme<how>(v0, x0);
    v1 = plain_extreme<how>(v1, x1);
    v2 = plain_extreme<how>(v2, x2);
    v3 = plain_extreme<how>(v3, x3);
    sum = hn::Add(sum, hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)));
  }
  for (; i + width <= n; i += width) {
    v0 = plain_extreme<how>(v0, hn::LoadU(d, x + i));
    sum = hn::Add(sum, hn::LoadU(d, x + i));
  }
  if (!hn::AllFalse(d, hn::IsNaN(sum))) return false;
  const auto v = plain_extreme<how>(plain_extreme<how>(v0, v1), plain_extreme<how>(v2, v3));
  result = hn::GetLane(how == Combine::kMax ? hn::MaxOfLanes(d, v) : hn::MinOfLanes(d, v));
  for (; i < n; ++i) result = combine<how>(result, x[i]);
  return true;
}
#endif

// Integer products have no vector instruction everywhere: lanes that the compiler makes vectors of where it can.
template <Combine how, class T>
HWY_INLINE Accumulator<how, T> combine_lanes(const T* x, int64_t n) {
  using A = Accumulator<how, T>;
  constexpr int64_t kLanes = 16;
  A lanes[kLanes];
  std::fill(lanes, lanes + kLanes, identity<how, A>());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = combine<how>(lanes[k], static_cast<A>(x[i + k]));
  for (; i < n; ++i) lanes[0] = combine<how>(lanes[0], static_cast<A>(x[i]));
  A result = identity<how, A>();
  for (A lane : lanes) result = combine<how>(result, lane);
  return result;
}

template <Combine how, class T>
void run(void* accumulator, const void* data, int64_t n) noexcept {
  const auto* x = static_cast<const T*>(data);
  auto& result = *static_cast<Accumulator<how, T>*>(accumulator);
#if HWY_TARGET != HWY_SCALAR
  if constexpr ((how == Combine::kMax || how == Combine::kMin) && std::is_floating_point_v<T>) {
    T extreme;
    if (find_plain_extreme<how>(x, static_cast<size_t>(n), extreme)) {
      result = combine<how>(result, extreme);
      return;
    }
  }
#endif
  if constexpr (how == Combine::kProd && std::is_integral_v<T>) {
    result = combine<how>(result, combine_lanes<how>(x, n));
  } else {
    for (int64_t i = 0; i < n; i += kBlock)
      result = combine<how>(result, combine_block<how>(x + i, static_cast<size_t>(std::min(kBlock, n - i))));
  }
}

template <Combine how, class T>
void runs(void* accumulators, const void* data, int64_t n, int64_t count) noexcept {
  using A = Accumulator<how, T>;
  auto* acc = static_cast<A*>(accumulators);
  const auto* x = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i, x += n) {
    A result = acc[i];
    for (int64_t k = 0; k < n; ++k) result = combine<how>(result, static_cast<A>(x[k]));
    acc[i] = result;
  }
}

// Rows of extremes: NaN keeps the compiler from making vectors of it.
template <Combine how, class T>
void extreme_rows(T* HWY_RESTRICT acc, const T* x, int64_t stride, int64_t count, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T *a = x + i * stride, *b = a + stride, *c = b + stride, *e = c + stride;
    int64_t j = 0;
    for (; j + width <= n; j += width) {
      const auto left = combine_vectors<how>(d, hn::LoadU(d, a + j), hn::LoadU(d, b + j));
      const auto right = combine_vectors<how>(d, hn::LoadU(d, c + j), hn::LoadU(d, e + j));
      const auto both = combine_vectors<how>(d, left, right);
      hn::StoreU(combine_vectors<how>(d, hn::LoadU(d, acc + j), both), d, acc + j);
    }
    for (; j < n; ++j)
      for (const T* row : {a, b, c, e}) acc[j] = combine<how>(acc[j], row[j]);
  }
  for (; i < count; ++i) {
    const T* a = x + i * stride;
    int64_t j = 0;
    for (; j + width <= n; j += width)
      hn::StoreU(combine_vectors<how>(d, hn::LoadU(d, acc + j), hn::LoadU(d, a + j)), d, acc + j);
    for (; j < n; ++j) acc[j] = combine<how>(acc[j], a[j]);
  }
}

// Four rows at a time: the accumulators are read and written once for the four. The order of the additions is that of
// the rows, so that the bits do not depend on how many rows come in one call.
template <Combine how, class T>
void rows(void* accumulators, const void* data, int64_t stride, int64_t count, int64_t n) noexcept {
  using A = Accumulator<how, T>;
  if constexpr (how == Combine::kMax || how == Combine::kMin)
    return extreme_rows<how>(static_cast<T*>(accumulators), static_cast<const T*>(data), stride, count, n);
  auto* HWY_RESTRICT acc = static_cast<A*>(accumulators);
  const auto* x = static_cast<const T*>(data);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T *HWY_RESTRICT a = x + i * stride, *HWY_RESTRICT b = a + stride, *HWY_RESTRICT c = b + stride,
                          *HWY_RESTRICT e = c + stride;
    for (int64_t j = 0; j < n; ++j) {
      const A two = combine<how>(combine<how>(acc[j], static_cast<A>(a[j])), static_cast<A>(b[j]));
      acc[j] = combine<how>(combine<how>(two, static_cast<A>(c[j])), static_cast<A>(e[j]));
    }
  }
  for (; i < count; ++i) {
    const T* HWY_RESTRICT a = x + i * stride;
    for (int64_t j = 0; j < n; ++j) acc[j] = combine<how>(acc[j], static_cast<A>(a[j]));
  }
}

template <Combine how, class T>
void clear(void* accumulators, int64_t n) noexcept {
  using A = Accumulator<how, T>;
  std::fill_n(static_cast<A*>(accumulators), n, identity<how, A>());
}

using Table = std::array<std::array<CombineKernels, kComputeTypeCount>, kCombineCount>;

template <Combine how>
constexpr std::array<CombineKernels, kComputeTypeCount> kernels_of() {
  return {CombineKernels{&run<how, float>, &runs<how, float>, &rows<how, float>, &clear<how, float>},
          CombineKernels{&run<how, double>, &runs<how, double>, &rows<how, double>, &clear<how, double>},
          CombineKernels{&run<how, int32_t>, &runs<how, int32_t>, &rows<how, int32_t>, &clear<how, int32_t>},
          CombineKernels{&run<how, int64_t>, &runs<how, int64_t>, &rows<how, int64_t>, &clear<how, int64_t>},
          CombineKernels{&run<how, uint64_t>, &runs<how, uint64_t>, &rows<how, uint64_t>, &clear<how, uint64_t>}};
}

}  // namespace

Table table() {
  return {kernels_of<Combine::kSum>(), kernels_of<Combine::kProd>(), kernels_of<Combine::kMax>(),
          kernels_of<Combine::kMin>()};
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(table);

ComputeType accumulator_type(Combine combine, ComputeType elements) noexcept {
  if (combine == Combine::kMax || combine == Combine::kMin || elements == ComputeType::kUint64) return elements;
  const bool is_float = elements == ComputeType::kFloat32 || elements == ComputeType::kFloat64;
  return is_float ? ComputeType::kFloat64 : ComputeType::kInt64;
}

const CombineKernels& combine_kernels(Combine combine, ComputeType elements) noexcept {
  static const auto kTable = HWY_DYNAMIC_DISPATCH(table)();
  return kTable[static_cast<size_t>(combine)][static_cast<size_t>(elements)];
}

}  // namespace headrace
#endif
