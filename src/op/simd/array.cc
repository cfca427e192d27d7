#include "op/simd/array.h"

#include <algorithm>
#include <cmath>

#include "op/simd/targets.h"

#ifndef HEADRACE_OP_SIMD_ARRAY_FUNCTIONS_
#define HEADRACE_OP_SIMD_ARRAY_FUNCTIONS_
namespace headrace {

template <class T>
struct ArrayFunctions {
  void (*exp)(const T*, T*, int64_t);
  void (*log)(const T*, T*, int64_t);
  double (*exp_and_sum)(const T*, T, T*, int64_t);
  double (*sum)(const T*, int64_t);
  double (*sum_of_squares)(const T*, T, int64_t);
  double (*dot)(const T*, const T*, int64_t);
  T (*max)(const T*, int64_t);
  T (*min)(const T*, int64_t);
  int64_t (*argmax)(const T*, int64_t);
  void (*scale)(T*, T, int64_t);
  void (*axpy)(T, const T*, T*, int64_t);
};

}  // namespace headrace
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/array.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/elementary-inl.h"
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

struct ExpOf {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return exp_of(d, x);
  }
};

struct LogOf {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return log_of(d, x);
  }
};

struct Product {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x, V a) {
    return hn::Mul(x, a);
  }
};

struct MultiplyAndAdd {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x, V a, V y) {
    return hn::Add(y, hn::Mul(a, x));
  }
};

template <class Function, class T>
void map(const T* x, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  vector_loop<Function>(d, y, static_cast<size_t>(n), FromMemory<hn::ScalableTag<T>>(d, x));
}

template <class T>
void scale_by(T* x, T a, int64_t n) {
  using D = hn::ScalableTag<T>;
  const D d;
  vector_loop<Product>(d, x, static_cast<size_t>(n), FromMemory<D>(d, x), Repeated<D>(d, &a));
}

template <class T>
void add_scaled(T a, const T* x, T* y, int64_t n) {
  using D = hn::ScalableTag<T>;
  const D d;
  vector_loop<MultiplyAndAdd>(d, y, static_cast<size_t>(n), FromMemory<D>(d, x), Repeated<D>(d, &a),
                              FromMemory<D>(d, y));
}

constexpr int64_t kBlock = 2048;  // elements that one plain loop sums

// Loads the doubles at x[i ...], zeros from `n` on.
template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const double* x, size_t i, size_t n) {
  return i + hn::Lanes(d) <= n ? hn::LoadU(d, x + i) : FromMemory<D>(d, x).load_first(d, i, n - i);
}

template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const float* x, size_t i, size_t n) {
  const hn::Rebind<float, D> narrow;
  if (i + hn::Lanes(d) <= n) return hn::PromoteTo(d, hn::LoadU(narrow, x + i));
  alignas(64) float rest[hn::MaxLanes(D())] = {};
  std::copy(x + i, x + n, rest);
  return hn::PromoteTo(d, hn::Load(narrow, rest));
}

// The sum of term(d, i, end) over vectors of doubles from position i on (zero from `end` on), in four chains that hide
// the latency of an addition.
template <class Term>
HWY_INLINE double sum_block(size_t begin, size_t end, const Term& term) {
  const hn::ScalableTag<double> d;
  const size_t width = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t i = begin;
  for (; i + 4 * width <= end; i += 4 * width) {
    s0 = hn::Add(s0, term(d, i, end));
    s1 = hn::Add(s1, term(d, i + width, end));
    s2 = hn::Add(s2, term(d, i + 2 * width, end));
    s3 = hn::Add(s3, term(d, i + 3 * width, end));
  }
  for (; i < end; i += width) s0 = hn::Add(s0, term(d, i, end));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// Pairwise over blocks: the error grows with the logarithm of the length.
template <class Term>
double sum_range(size_t begin, size_t end, const Term& term) {
  if (end - begin <= kBlock) return sum_block(begin, end, term);
  const size_t half = (end - begin) / 2 / kBlock * kBlock;
  const size_t middle = begin + (half == 0 ? kBlock : half);
  return sum_range(begin, middle, term) + sum_range(middle, end, term);
}

template <class T>
double sum_all(const T* x, int64_t n) {
  const auto term = [x](auto d, size_t i, size_t end) HWY_ATTR { return load_wide(d, x, i, end); };
  return sum_range(0, static_cast<size_t>(n), term);
}

template <class T>
double dot_all(const T* a, const T* b, int64_t n) {
  const auto term = [a, b](auto d, size_t i, size_t end)
                        HWY_ATTR { return hn::Mul(load_wide(d, a, i, end), load_wide(d, b, i, end)); };
  return sum_range(0, static_cast<size_t>(n), term);
}

template <class T>
double square_all(const T* x, T center, int64_t n) {
  const auto term = [x, center](auto d, size_t i, size_t end) HWY_ATTR {
    const auto away = hn::Sub(load_wide(d, x, i, end), hn::Set(d, static_cast<double>(center)));
    const auto square = hn::Mul(away, away);
    return end - i >= hn::Lanes(d) ? square : hn::IfThenElseZero(hn::FirstN(d, end - i), square);
  };
  return sum_range(0, static_cast<size_t>(n), term);
}

struct ShiftedExp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x, V shift) {
    return exp_of(d, hn::Sub(x, shift));
  }
};

template <class T>
double exp_sum_all(const T* x, T shift, T* y, int64_t count) {
  using D = hn::ScalableTag<T>;
  const D d;
  double total = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    vector_loop<ShiftedExp>(d, y + first, static_cast<size_t>(n), FromMemory<D>(d, x + first), Repeated<D>(d, &shift));
    total += sum_all(y + first, n);
  }
  return total;
}

struct Greatest {
  template <class V>
  static HWY_INLINE V better(V a, V b) {
    return hn::Max(a, b);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> across(D d, hn::Vec<D> v) {
    return hn::MaxOfLanes(d, v);
  }
};

struct Least {
  template <class V>
  static HWY_INLINE V better(V a, V b) {
    return hn::Min(a, b);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> across(D d, hn::Vec<D> v) {
    return hn::MinOfLanes(d, v);
  }
};

// NaN when there is one. A short rest is filled up with the first value, which changes nothing.
template <class Extremum, class T>
T extremum(const T* x, int64_t count) {
  using D = hn::ScalableTag<T>;
  const D d;
  const auto n = static_cast<size_t>(count), width = hn::Lanes(d);
  auto best = hn::Set(d, x[0]);
  auto nan = hn::IsNaN(best);
  const auto take = [&](hn::Vec<D> value) HWY_ATTR {
    nan = hn::Or(nan, hn::IsNaN(value));
    best = Extremum::better(best, value);
  };
  size_t i = 0;
  for (; i + width <= n; i += width) take(hn::LoadU(d, x + i));
  if (i < n) {
    alignas(64) T rest[hn::MaxLanes(D())];
    std::fill(std::copy(x + i, x + n, rest), rest + width, x[0]);
    take(hn::Load(d, rest));
  }
  if (!hn::AllFalse(d, nan)) return std::numeric_limits<T>::quiet_NaN();
  return hn::GetLane(Extremum::across(d, best));
}

template <class T>
T max_all(const T* x, int64_t n) {
  return n == 0 ? -std::numeric_limits<T>::infinity() : extremum<Greatest>(x, n);
}

template <class T>
T min_all(const T* x, int64_t n) {
  return n == 0 ? std::numeric_limits<T>::infinity() : extremum<Least>(x, n);
}

template <class T>
int64_t argmax_all(const T* x, int64_t n) {
  const T greatest = extremum<Greatest>(x, n);
  const hn::ScalableTag<T> d;
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, greatest);
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    const auto value = hn::LoadU(d, x + i);
    const auto found = greatest == greatest ? hn::Eq(value, wanted) : hn::IsNaN(value);
    if (!hn::AllFalse(d, found)) break;
  }
  while (greatest == greatest ? x[i] != greatest : x[i] == x[i]) ++i;
  return i;
}

// What dynamic dispatch chooses among: every function of this file for one element type.
template <class T>
ArrayFunctions<T> make_functions() {
  return {
      .exp = &map<ExpOf, T>,
      .log = &map<LogOf, T>,
      .exp_and_sum = &exp_sum_all<T>,
      .sum = &sum_all<T>,
      .sum_of_squares = &square_all<T>,
      .dot = &dot_all<T>,
      .max = &max_all<T>,
      .min = &min_all<T>,
      .argmax = &argmax_all<T>,
      .scale = &scale_by<T>,
      .axpy = &add_scaled<T>,
  };
}

ArrayFunctions<float> float_functions() { return make_functions<float>(); }
ArrayFunctions<double> double_functions() { return make_functions<double>(); }

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(float_functions);
HWY_EXPORT(double_functions);

namespace simd {
namespace {

const ArrayFunctions<float>& functions(float) {
  static const ArrayFunctions<float> kFunctions = HWY_DYNAMIC_DISPATCH(float_functions)();
  return kFunctions;
}

const ArrayFunctions<double>& functions(double) {
  static const ArrayFunctions<double> kFunctions = HWY_DYNAMIC_DISPATCH(double_functions)();
  return kFunctions;
}

}  // namespace

void exp(const float* x, float* y, int64_t n) noexcept { functions(float{}).exp(x, y, n); }
void exp(const double* x, double* y, int64_t n) noexcept { functions(double{}).exp(x, y, n); }
void log(const float* x, float* y, int64_t n) noexcept { functions(float{}).log(x, y, n); }
void log(const double* x, double* y, int64_t n) noexcept { functions(double{}).log(x, y, n); }
double exp_and_sum(const float* x, float shift, float* y, int64_t n) noexcept {
  return functions(float{}).exp_and_sum(x, shift, y, n);
}
double exp_and_sum(const double* x, double shift, double* y, int64_t n) noexcept {
  return functions(double{}).exp_and_sum(x, shift, y, n);
}
double sum(const float* x, int64_t n) noexcept { return functions(float{}).sum(x, n); }
double sum(const double* x, int64_t n) noexcept { return functions(double{}).sum(x, n); }
double sum_of_squares(const float* x, float center, int64_t n) noexcept {
  return functions(float{}).sum_of_squares(x, center, n);
}
double sum_of_squares(const double* x, double center, int64_t n) noexcept {
  return functions(double{}).sum_of_squares(x, center, n);
}
double dot(const float* a, const float* b, int64_t n) noexcept { return functions(float{}).dot(a, b, n); }
double dot(const double* a, const double* b, int64_t n) noexcept { return functions(double{}).dot(a, b, n); }
float max(const float* x, int64_t n) noexcept { return functions(float{}).max(x, n); }
double max(const double* x, int64_t n) noexcept { return functions(double{}).max(x, n); }
float min(const float* x, int64_t n) noexcept { return functions(float{}).min(x, n); }
double min(const double* x, int64_t n) noexcept { return functions(double{}).min(x, n); }
int64_t argmax(const float* x, int64_t n) noexcept { return functions(float{}).argmax(x, n); }
int64_t argmax(const double* x, int64_t n) noexcept { return functions(double{}).argmax(x, n); }
void scale(float* x, float a, int64_t n) noexcept { functions(float{}).scale(x, a, n); }
void scale(double* x, double a, int64_t n) noexcept { functions(double{}).scale(x, a, n); }
void axpy(float a, const float* x, float* y, int64_t n) noexcept { functions(float{}).axpy(a, x, y, n); }
void axpy(double a, const double* x, double* y, int64_t n) noexcept { functions(double{}).axpy(a, x, y, n); }

}  // namespace simd
}  // namespace headrace
#endif
