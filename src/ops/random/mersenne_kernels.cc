#include "ops/random/mersenne_kernels.h"

#include <algorithm>
#include <cmath>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/mersenne_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/compress-inl.h"
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

using PointTag = CompressTag<float>;

// Uniforms in [0, 1) as std::uniform_real_distribution makes them: the nearest to word / 2^32 or words / 2^64 that is
// below 1.
template <class D, class W>
HWY_INLINE hn::Vec<D> uniform_of(D d, W words) {
  using T = hn::TFromD<D>;
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  const auto scaled = hn::Mul(hn::ConvertTo(d, words), hn::Set(d, static_cast<T>(kIsFloat ? 0x1p-32 : 0x1p-64)));
  return hn::Min(scaled, hn::Set(d, static_cast<T>(kIsFloat ? 0x1.fffffep-1 : 0x1.fffffffffffffp-1)));
}

struct AffineUniform {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V words, V offset, V factor) {
    const hn::RebindToUnsigned<D> du;
    return hn::Add(offset, hn::Mul(factor, uniform_of(d, hn::BitCast(du, words))));
  }
};

// Words are read as bits of floats; of two words the first is the lower.
template <class Real>
void affine_uniforms(const uint32_t* words, size_t n, Real offset, Real factor, Real* values) {
  using D = hn::ScalableTag<Real>;
  const D d;
  vector_loop<AffineUniform>(d, values, n, FromMemory<D>(d, words), Repeated<D>(d, &offset), Repeated<D>(d, &factor));
}

void affine_float(const uint32_t* words, size_t n, float offset, float factor, float* values) {
  affine_uniforms(words, n, offset, factor, values);
}
void affine_double(const uint32_t* words, size_t n, double offset, double factor, double* values) {
  affine_uniforms(words, n, offset, factor, values);
}

void up_to(const uint32_t* words, size_t n, uint32_t last, uint8_t* kept) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto most = hn::Set(d, last), one = hn::Set(d, 1u);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto word = hn::LoadU(d, words + i);
    const auto flags = hn::IfThenElseZero(hn::Eq(hn::Min(word, most), word), one);
    hn::StoreU(hn::U8FromU32(flags), bytes, kept + i);
  }
  for (; i < n; ++i) kept[i] = words[i] <= last;
}

int64_t accept_points(const uint32_t* words, size_t n, PolarPoints<float>& points) {
  const PointTag d;
  const hn::RebindToUnsigned<PointTag> du;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  size_t count = 0;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Vec<decltype(du)> first, second;
    hn::LoadInterleaved2(du, words + 2 * i, first, second);
    const auto x = hn::Sub(hn::Mul(two, uniform_of(d, first)), one);
    const auto y = hn::Sub(hn::Mul(two, uniform_of(d, second)), one);
    const auto square = hn::Add(hn::Mul(x, x), hn::Mul(y, y));
    auto inside = hn::AndNot(hn::Eq(square, zero), hn::Le(square, one));
    if (n - i < hn::Lanes(d)) inside = hn::And(inside, hn::FirstN(d, n - i));
    hn::StoreU(compressed(d, x, inside), d, points.x + count);
    hn::StoreU(compressed(d, y, inside), d, points.y + count);
    hn::StoreU(compressed(d, square, inside), d, points.square + count);
    count += hn::CountTrue(d, inside);
  }
  return static_cast<int64_t>(count);
}

template <bool kBoth, class Real>
void finish_normals(const PolarPoints<Real>& points, const Real* logs, size_t n, Real offset, Real factor,
                    Real* values) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d), per_vector = kBoth ? 2 * lanes : lanes;
  const auto minus_two = hn::Set(d, -2), plus = hn::Set(d, offset), by = hn::Set(d, factor);
  const auto store = [&](size_t point, Real* to) HWY_ATTR {
    const auto log = hn::LoadU(d, logs + point), square = hn::LoadU(d, points.square + point);
    const auto scale = hn::Sqrt(hn::Div(hn::Mul(minus_two, log), square));
    const auto first = hn::Add(plus, hn::Mul(by, hn::Mul(hn::LoadU(d, points.y + point), scale)));
    if constexpr (kBoth) {
      const auto second = hn::Add(plus, hn::Mul(by, hn::Mul(hn::LoadU(d, points.x + point), scale)));
      hn::StoreInterleaved2(first, second, d, to);
    } else {
      hn::StoreU(first, d, to);
    }
  };
  size_t point = 0, i = 0;
  for (; i + per_vector <= n; i += per_vector, point += lanes) store(point, values + i);
  if (i == n) return;
  Real rest[2 * hn::MaxLanes(hn::ScalableTag<Real>())];
  store(point, rest);
  std::copy(rest, rest + (n - i), values + i);
}

template <class Real>
void finish(const PolarPoints<Real>& points, const Real* logs, bool of_both, size_t n, Real offset, Real factor,
            Real* values) {
  if (of_both)
    finish_normals<true>(points, logs, n, offset, factor, values);
  else
    finish_normals<false>(points, logs, n, offset, factor, values);
}

void finish_float(const PolarPoints<float>& points, const float* logs, bool of_both, size_t n, float offset,
                  float factor, float* values) {
  finish(points, logs, of_both, n, offset, factor, values);
}
void finish_double(const PolarPoints<double>& points, const double* logs, bool of_both, size_t n, double offset,
                   double factor, double* values) {
  finish(points, logs, of_both, n, offset, factor, values);
}

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(affine_float);
HWY_EXPORT(affine_double);
HWY_EXPORT(up_to);
HWY_EXPORT(accept_points);
HWY_EXPORT(finish_float);
HWY_EXPORT(finish_double);

template <>
void uniforms_of_words(const uint32_t* words, int64_t n, float offset, float factor, float* values) {
  HWY_DYNAMIC_DISPATCH(affine_float)(words, static_cast<size_t>(n), offset, factor, values);
}
template <>
void uniforms_of_words(const uint32_t* words, int64_t n, double offset, double factor, double* values) {
  HWY_DYNAMIC_DISPATCH(affine_double)(words, static_cast<size_t>(n), offset, factor, values);
}

void words_up_to(const uint32_t* words, int64_t n, uint32_t last, uint8_t* kept) {
  HWY_DYNAMIC_DISPATCH(up_to)(words, static_cast<size_t>(n), last, kept);
}

template <>
int64_t PolarPoints<float>::accept(const uint32_t* words, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(accept_points)(words, static_cast<size_t>(n), *this);
}

template <>
int64_t PolarPoints<double>::accept(const uint32_t* words, int64_t n) {
  double coordinates[2 * kProposals];
  uniforms_of_words(words, 2 * n, -1.0, 2.0, coordinates);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[count] = coordinates[2 * i];
    y[count] = coordinates[2 * i + 1];
    square[count] = x[count] * x[count] + y[count] * y[count];
    count += square[count] <= 1 && square[count] != 0;
  }
  return count;
}

namespace {

// The logarithms are the C library's, so that the last bits are those of MXNet.
template <class Real>
void logarithms(const Real* of, int64_t n, Real* logs) {
  for (int64_t i = 0; i < n; ++i) logs[i] = std::log(of[i]);
}

}  // namespace

template <>
void PolarPoints<float>::normals(bool of_both, int64_t n, float offset, float factor, float* values) const {
  float logs[kProposals + kPadding];
  logarithms(square, of_both ? (n + 1) / 2 : n, logs);
  HWY_DYNAMIC_DISPATCH(finish_float)(*this, logs, of_both, static_cast<size_t>(n), offset, factor, values);
}
template <>
void PolarPoints<double>::normals(bool of_both, int64_t n, double offset, double factor, double* values) const {
  double logs[kProposals + kPadding];
  logarithms(square, of_both ? (n + 1) / 2 : n, logs);
  HWY_DYNAMIC_DISPATCH(finish_double)(*this, logs, of_both, static_cast<size_t>(n), offset, factor, values);
}

}  // namespace headrace
#endif
