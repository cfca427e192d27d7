#include "ops/normalization/batch_norm_rows.h"

#include <algorithm>
#include <type_traits>

#include "base/half.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/batch_norm_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// After the target is known.
#include "op/simd/for_vectors-inl.h"
#include "op/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 4096;  // elements summed in the compute type before the sums go on in double

// A vector of the compute type out of memory that holds S, and back.
template <class S, class D>
HWY_INLINE hn::Vec<D> load(D d, const S* from) {
  const hn::Rebind<uint16_t, D> words;
  if constexpr (std::is_same_v<S, Bfloat16>)
    return bfloat16_to_float(d, hn::LoadU(words, reinterpret_cast<const uint16_t*>(from)));
  else if constexpr (std::is_same_v<S, Float16>)
    return float16_to_float(d, hn::LoadU(words, reinterpret_cast<const uint16_t*>(from)));
  else
    return hn::LoadU(d, from);
}

template <class S, class D, class V>
HWY_INLINE void store(D d, V v, S* to) {
  const hn::Rebind<uint16_t, D> words;
  if constexpr (std::is_same_v<S, Bfloat16>)
    hn::StoreU(float_to_bfloat16(d, v), words, reinterpret_cast<uint16_t*>(to));
  else if constexpr (std::is_same_v<S, Float16>)
    hn::StoreU(float_to_float16(d, v), words, reinterpret_cast<uint16_t*>(to));
  else
    hn::StoreU(v, d, to);
}

// The parameters of a vector of columns, or of one channel for all lanes.
template <bool plane, class D, class T>
HWY_INLINE hn::Vec<D> parameter(D d, const T* values, size_t i) {
  if constexpr (plane)
    return hn::Set(d, *values);
  else
    return hn::LoadU(d, values + i);
}

// The largest number that S holds as 0.
template <class S>
constexpr float kNothing = std::is_same_v<S, Float16>    ? 0x1p-25f
                           : std::is_same_v<S, Bfloat16> ? 0x1p-134f
                                                         : 0.0f;

template <bool relu, class S, class D, class V>
HWY_INLINE V normalized(D d, V centered, V scale, V beta) {
  const V y = hn::MulAdd(centered, scale, beta);
  if constexpr (relu)
    return hn::IfThenElse(hn::Lt(y, hn::Set(d, static_cast<hn::TFromD<D>>(-kNothing<S>))), hn::Zero(d),
                          y);  // NaN stays
  else
    return y;
}

// dy times the slope of relu at the normalised element, as it is held in S: NaN where that is.
template <bool relu, class S, class D, class V>
HWY_INLINE V masked(D d, V dy, V centered, V scale, V beta) {
  if constexpr (relu) {
    const V y = hn::MulAdd(centered, scale, beta);
    const V taken = hn::IfThenElseZero(hn::Gt(y, hn::Set(d, static_cast<hn::TFromD<D>>(kNothing<S>))), dy);
    return hn::IfThenElse(hn::IsNaN(y), y, taken);
  } else {
    return dy;
  }
}

// Row by row, in the order of memory: what belongs to the columns stays in the nearest cache.
template <class S, class T>
void add_moments(const void* data, int64_t rows, int64_t width, const T* HWY_RESTRICT shift, T* HWY_RESTRICT sum,
                 T* HWY_RESTRICT squares) noexcept {
  for (int64_t r = 0; r < rows; ++r) {
    const S* x = static_cast<const S*>(data) + r * width;
    for_vectors<T>(width, [&](auto d, size_t i) HWY_ATTR {
      const auto v = hn::Sub(load(d, x + i), hn::LoadU(d, shift + i));
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), v), d, sum + i);
      hn::StoreU(hn::MulAdd(v, v, hn::LoadU(d, squares + i)), d, squares + i);
    });
  }
}

template <bool relu, bool plane, class S, class T>
HWY_INLINE void normalize_row(const S* HWY_RESTRICT x, S* HWY_RESTRICT y, int64_t width, BatchAffine<T> a) {
  for_vectors<T>(width, [&](auto d, size_t i) HWY_ATTR {
    const auto centered = hn::Sub(load(d, x + i), parameter<plane>(d, a.mean, i));
    store(d, normalized<relu, S>(d, centered, parameter<plane>(d, a.scale, i), parameter<plane>(d, a.beta, i)), y + i);
  });
}

template <bool relu, class S, class T>
HWY_INLINE void add_products_of_row(const S* HWY_RESTRICT dy, const S* HWY_RESTRICT x, int64_t width, BatchAffine<T> a,
                                    T* HWY_RESTRICT sum, T* HWY_RESTRICT products) {
  for_vectors<T>(width, [&](auto d, size_t i) HWY_ATTR {
    const auto centered = hn::Sub(load(d, x + i), hn::LoadU(d, a.mean + i));
    const auto g = masked<relu, S>(d, load(d, dy + i), centered, hn::LoadU(d, a.scale + i), hn::LoadU(d, a.beta + i));
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), g), d, sum + i);
    hn::StoreU(hn::MulAdd(g, centered, hn::LoadU(d, products + i)), d, products + i);
  });
}

template <bool relu, bool plane, class S, class T>
HWY_INLINE void gradient_row(const S* HWY_RESTRICT dy, const S* HWY_RESTRICT x, S* HWY_RESTRICT dx, int64_t width,
                             BatchAffine<T> a, BatchSlope<T> b) {
  for_vectors<T>(width, [&](auto d, size_t i) HWY_ATTR {
    const auto scale = parameter<plane>(d, a.scale, i);
    const auto centered = hn::Sub(load(d, x + i), parameter<plane>(d, a.mean, i));
    const auto g = masked<relu, S>(d, load(d, dy + i), centered, scale, parameter<plane>(d, a.beta, i));
    const auto level = hn::Sub(g, parameter<plane>(d, b.mean_gradient, i));
    store(d, hn::Mul(hn::NegMulAdd(centered, parameter<plane>(d, b.slope, i), level), scale), dx + i);
  });
}

// Two sums over n elements; term(d, i, first, second) adds to them.
template <class T, class F>
HWY_INLINE void two_sums(int64_t count, T& first, T& second, F&& term) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t width = hn::Lanes(d), n = static_cast<size_t>(count);
  auto a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0;
  size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    term(d, i, a0, b0);
    term(d, i + width, a1, b1);
  }
  for (; i + width <= n; i += width) term(d, i, a0, b0);
  auto a = hn::Zero(one), b = a;
  for (; i < n; ++i) term(one, i, a, b);
  first = hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1))) + hn::GetLane(a);
  second = hn::GetLane(hn::SumOfLanes(d, hn::Add(b0, b1))) + hn::GetLane(b);
}

template <class S, class T>
BatchMoments plane_moments(const void* x, int64_t n) noexcept {
  const hn::CappedTag<T, 1> one;
  BatchMoments all;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    const S* from = static_cast<const S*>(x) + begin;
    const T base = begin == 0 ? hn::GetLane(load(one, from)) : static_cast<T>(all.mean);
    T sum, squares;
    two_sums(count, sum, squares, [&](auto d, size_t i, auto& s, auto& q) HWY_ATTR {
      const auto v = hn::Sub(load(d, from + i), hn::Set(d, base));
      s = hn::Add(s, v);
      q = hn::MulAdd(v, v, q);
    });
    const double total = static_cast<double>(sum), share = total / static_cast<double>(count);
    all.merge({static_cast<double>(count), static_cast<double>(base) + share,
               std::max(static_cast<double>(squares) - total * share, 0.0)});
  }
  return all;
}

template <bool relu, class S, class T>
HWY_INLINE void products_of_plane(const S* dy, const S* x, int64_t n, BatchAffine<T> a, double& sum, double& products) {
  sum = products = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T s = 0, p = 0;
    two_sums(std::min(kBlock, n - begin), s, p, [&](auto d, size_t i, auto& first, auto& second) HWY_ATTR {
      const size_t at = static_cast<size_t>(begin) + i;
      const auto centered = hn::Sub(load(d, x + at), hn::Set(d, *a.mean));
      const auto g = masked<relu, S>(d, load(d, dy + at), centered, hn::Set(d, *a.scale), hn::Set(d, *a.beta));
      first = hn::Add(first, g);
      second = hn::MulAdd(g, centered, second);
    });
    sum += static_cast<double>(s);
    products += static_cast<double>(p);
  }
}

// --- the entries of the table: `relu` becomes a constant -------------------------------------------------------------

template <class F>
HWY_INLINE void with_constant(bool value, F&& f) {
  if (value)
    f(std::true_type{});
  else
    f(std::false_type{});
}

template <class S, class T>
void normalize(const void* x, void* y, int64_t rows, int64_t width, BatchAffine<T> a, bool relu) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    for (int64_t at = 0; at < rows * width; at += width)
      normalize_row<on.value, false>(static_cast<const S*>(x) + at, static_cast<S*>(y) + at, width, a);
  });
}

template <class S, class T>
void add_products(const void* dy, const void* x, int64_t rows, int64_t width, BatchAffine<T> a, bool relu, T* sum,
                  T* products) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    for (int64_t at = 0; at < rows * width; at += width)
      add_products_of_row<on.value>(static_cast<const S*>(dy) + at, static_cast<const S*>(x) + at, width, a, sum,
                                    products);
  });
}

template <class S, class T>
void gradient(const void* dy, const void* x, void* dx, int64_t rows, int64_t width, BatchAffine<T> a, BatchSlope<T> b,
              bool relu) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    for (int64_t at = 0; at < rows * width; at += width)
      gradient_row<on.value, false>(static_cast<const S*>(dy) + at, static_cast<const S*>(x) + at,
                                    static_cast<S*>(dx) + at, width, a, b);
  });
}

template <class S, class T>
void normalize_plane(const void* x, void* y, int64_t n, BatchAffine<T> a, bool relu) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    normalize_row<on.value, true>(static_cast<const S*>(x), static_cast<S*>(y), n, a);
  });
}

template <class S, class T>
void plane_products(const void* dy, const void* x, int64_t n, BatchAffine<T> a, bool relu, double& sum,
                    double& products) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    products_of_plane<on.value>(static_cast<const S*>(dy), static_cast<const S*>(x), n, a, sum, products);
  });
}

template <class S, class T>
void plane_gradient(const void* dy, const void* x, void* dx, int64_t n, BatchAffine<T> a, BatchSlope<T> b,
                    bool relu) noexcept {
  with_constant(relu, [&](auto on) HWY_ATTR {
    gradient_row<on.value, true>(static_cast<const S*>(dy), static_cast<const S*>(x), static_cast<S*>(dx), n, a, b);
  });
}

template <class S, class T>
BatchNormKernels<T> table() {
  return {add_moments<S, T>,   normalize<S, T>,       add_products<S, T>,   gradient<S, T>,
          plane_moments<S, T>, normalize_plane<S, T>, plane_products<S, T>, plane_gradient<S, T>};
}

}  // namespace

BatchNormKernels<float> batch_norm_float() { return table<float, float>(); }
BatchNormKernels<float> batch_norm_float16() { return table<Float16, float>(); }
BatchNormKernels<float> batch_norm_bfloat16() { return table<Bfloat16, float>(); }
BatchNormKernels<double> batch_norm_double() { return table<double, double>(); }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(batch_norm_float);
HWY_EXPORT(batch_norm_float16);
HWY_EXPORT(batch_norm_bfloat16);
HWY_EXPORT(batch_norm_double);

template <>
const BatchNormKernels<float>& batch_norm_kernels<float>(DType dtype) noexcept {
  static const auto kSingle = HWY_DYNAMIC_DISPATCH(batch_norm_float)();
  static const auto kHalf = HWY_DYNAMIC_DISPATCH(batch_norm_float16)();
  static const auto kBrain = HWY_DYNAMIC_DISPATCH(batch_norm_bfloat16)();
  return dtype == DType::kBfloat16 ? kBrain : dtype == DType::kFloat16 ? kHalf : kSingle;
}

template <>
const BatchNormKernels<double>& batch_norm_kernels<double>(DType) noexcept {
  static const auto kKernels = HWY_DYNAMIC_DISPATCH(batch_norm_double)();
  return kKernels;
}

}  // namespace headrace
#endif
