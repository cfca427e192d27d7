#include "ops/reduce/softmax_rows.h"

#include <algorithm>
#include <cmath>

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/softmax_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/exponential-inl.h"
#include "op/simd/for_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Shares that are no normal numbers are zero, as oneDNN has them: whatever is made of denormal ones takes some
// processors a hundred times as long. `e` is plain_exp_of something, `bound` kPlain by what the share is a part of.
template <class D, class V>
HWY_INLINE V zero_below(D, V e, V bound) {
  return hn::IfThenZeroElse(hn::Lt(e, bound), e);
}

template <class T>
constexpr T kPlain = Exponential<T>::kPlain;

// Elements summed in the compute type before the sum goes on in double.
constexpr size_t kBlock = 1024;

// Sum of term(d, i) over all i, blocks in the compute type, blocks together in double.
template <class T, class F>
HWY_INLINE double sum_of(size_t n, F&& term) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t width = hn::Lanes(d);
  double total = 0;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t end = n - begin < kBlock ? n : begin + kBlock;
    auto sum = hn::Zero(d);
    size_t i = begin;
    for (; i + width <= end; i += width) sum = hn::Add(sum, term(d, i));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
    for (; i < end; ++i) total += static_cast<double>(hn::GetLane(term(one, i)));
  }
  return total;
}

// The largest scale * x, or NaN where there is one.
template <class T>
HWY_INLINE T largest(const T* x, size_t n, T scale) {
  const hn::ScalableTag<T> d;
  const size_t width = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  auto best = hn::Set(d, -INFINITY);
  auto has_nan = hn::IsNaN(best);
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const auto z = hn::Mul(hn::LoadU(d, x + i), factor);
    best = hn::Max(best, z);
    has_nan = hn::Or(has_nan, hn::IsNaN(z));
  }
  T result = hn::AllFalse(d, has_nan) ? hn::GetLane(hn::MaxOfLanes(d, best)) : static_cast<T>(NAN);
  for (; i < n; ++i) {
    const T z = x[i] * scale;
    if (z > result || z != z) result = z;
  }
  return result;
}

template <class T>
void softmax(const T* x, T* y, int64_t count, double scale) noexcept {
  const auto n = static_cast<size_t>(count);
  const T factor = static_cast<T>(scale), top = largest(x, n, factor);
  const double sum = sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto e = plain_exp_of(d, hn::Sub(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), hn::Set(d, top)));
    hn::StoreU(e, d, y + i);
    return e;
  });
  const T share = top == top ? 1 / static_cast<T>(sum) : top, bound = kPlain<T> * static_cast<T>(sum);
  for_vectors<T>(static_cast<int64_t>(n), [&](auto d, size_t i) HWY_ATTR {
    const auto e = zero_below(d, hn::LoadU(d, y + i), hn::Set(d, bound));
    hn::StoreU(hn::Mul(e, hn::Set(d, share)), d, y + i);
  });
}

template <class T>
void log_softmax(const T* x, T* y, int64_t count, double scale) noexcept {
  const auto n = static_cast<size_t>(count);
  const T factor = static_cast<T>(scale), top = largest(x, n, factor);
  const double sum = sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    return plain_exp_of(d, hn::Sub(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), hn::Set(d, top)));
  });
  const T log_sum = static_cast<T>(std::log(sum));
  for_vectors<T>(static_cast<int64_t>(n), [&](auto d, size_t i) HWY_ATTR {
    const auto z = hn::Sub(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), hn::Set(d, top));
    hn::StoreU(hn::Sub(z, hn::Set(d, log_sum)), d, y + i);
  });
}

// All columns advance together, a row at a time.
template <bool log, class T>
void softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width, double scale) noexcept {
  constexpr int64_t kRows = 256;  // summed in the compute type before the sum goes on in double
  const auto columns = static_cast<size_t>(width);
  const T factor = static_cast<T>(scale);
  alignas(64) T top[kSoftmaxColumns], sum[kSoftmaxColumns], bound[kSoftmaxColumns];
  double total[kSoftmaxColumns] = {};
  for (T& t : top) t = static_cast<T>(-INFINITY);
  for (int64_t i = 0; i < n; ++i) {
    const T* row = x + i * stride;
    for_vectors<T>(static_cast<int64_t>(columns), [&](auto d, size_t j) HWY_ATTR {
      const auto z = hn::Mul(hn::LoadU(d, row + j), hn::Set(d, factor)), best = hn::LoadU(d, top + j);
      hn::StoreU(hn::IfThenElse(hn::Or(hn::Gt(z, best), hn::IsNaN(z)), z, best), d, top + j);
    });
  }
  for (int64_t begin = 0; begin < n; begin += kRows) {
    for (T& s : sum) s = 0;
    for (int64_t i = begin; i < n && i < begin + kRows; ++i) {
      const T* row = x + i * stride;
      T* to = y + i * stride;
      for_vectors<T>(static_cast<int64_t>(columns), [&](auto d, size_t j) HWY_ATTR {
        const auto z = hn::Mul(hn::LoadU(d, row + j), hn::Set(d, factor));
        const auto e = plain_exp_of(d, hn::Sub(z, hn::LoadU(d, top + j)));
        hn::StoreU(hn::Add(hn::LoadU(d, sum + j), e), d, sum + j);
        if constexpr (!log) hn::StoreU(e, d, to + j);
      });
    }
    for (size_t j = 0; j < columns; ++j) total[j] += static_cast<double>(sum[j]);
  }
  for (size_t j = 0; j < columns; ++j) {
    const double last = log ? std::log(total[j]) : 1 / total[j];
    sum[j] = top[j] == top[j] ? static_cast<T>(last) : top[j];
    bound[j] = kPlain<T> * static_cast<T>(total[j]);
  }
  for (int64_t i = 0; i < n; ++i) {
    const T* row = x + i * stride;
    T* to = y + i * stride;
    for_vectors<T>(static_cast<int64_t>(columns), [&](auto d, size_t j) HWY_ATTR {
      if constexpr (log) {
        const auto z = hn::Mul(hn::LoadU(d, row + j), hn::Set(d, factor));
        hn::StoreU(hn::Sub(hn::Sub(z, hn::LoadU(d, top + j)), hn::LoadU(d, sum + j)), d, to + j);
      } else {
        const auto e = zero_below(d, hn::LoadU(d, to + j), hn::LoadU(d, bound + j));
        hn::StoreU(hn::Mul(e, hn::LoadU(d, sum + j)), d, to + j);
      }
    });
  }
}

template <class T>
void softmax_gradient(const T* dy, const T* y, T* dx, int64_t count, double scale) noexcept {
  const auto n = static_cast<size_t>(count);
  const T dot = static_cast<T>(
      sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, y + i)); }));
  const T factor = static_cast<T>(scale);
  for_vectors<T>(static_cast<int64_t>(n), [&](auto d, size_t i) HWY_ATTR {
    const auto difference = hn::Sub(hn::LoadU(d, dy + i), hn::Set(d, dot));
    hn::StoreU(hn::Mul(hn::Mul(hn::Set(d, factor), hn::LoadU(d, y + i)), difference), d, dx + i);
  });
}

template <class T>
void log_softmax_gradient(const T* dy, const T* y, T* dx, int64_t count, double scale) noexcept {
  const auto n = static_cast<size_t>(count);
  const T sum = static_cast<T>(sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR { return hn::LoadU(d, dy + i); }));
  const T factor = static_cast<T>(scale), bound = kPlain<T> * std::max(T{1}, 1 / std::abs(sum));
  for_vectors<T>(static_cast<int64_t>(n), [&](auto d, size_t i) HWY_ATTR {
    const auto e = zero_below(d, plain_exp_of(d, hn::LoadU(d, y + i)), hn::Set(d, bound));
    const auto expected = hn::Mul(e, hn::Set(d, sum));
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::Sub(hn::LoadU(d, dy + i), expected)), d, dx + i);
  });
}

}  // namespace

SoftmaxKernels<float> float_kernels() {
  return {
      softmax<float>,          log_softmax<float>,         softmax_columns<false, float>, softmax_columns<true, float>,
      softmax_gradient<float>, log_softmax_gradient<float>};
}
SoftmaxKernels<double> double_kernels() {
  return {softmax<double>,
          log_softmax<double>,
          softmax_columns<false, double>,
          softmax_columns<true, double>,
          softmax_gradient<double>,
          log_softmax_gradient<double>};
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);

const SoftmaxKernels<float>& softmax_kernels(float) noexcept {
  static const auto kKernels = HWY_DYNAMIC_DISPATCH(float_kernels)();
  return kKernels;
}
const SoftmaxKernels<double>& softmax_kernels(double) noexcept {
  static const auto kKernels = HWY_DYNAMIC_DISPATCH(double_kernels)();
  return kKernels;
}

}  // namespace headrace
#endif
