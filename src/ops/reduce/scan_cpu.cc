#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/kernel.h"
#include "ops/reduce/scan.h"

namespace headrace {
namespace {

constexpr int64_t kBlock = 1 << 16;  // elements of a long row that one thread sums at a time
constexpr int64_t kColumns = 512;
constexpr double kNsPerElement = 0.7;

template <class T>
using Sum = std::conditional_t<is_real<T>, double, uint64_t>;

template <class T>
T rounded(Sum<T> sum) noexcept {
  if constexpr (std::is_same_v<T, bool>)
    return sum != 0;
  else
    return numeric_cast<T>(sum);
}

template <class T>
Sum<T> term(T x) noexcept {
  if constexpr (is_real<T>)
    return static_cast<double>(x);
  else
    return static_cast<uint64_t>(x);
}

// Four elements at a time, so that additions wait for the running sum only once in four.
template <class T, int step>
Sum<T> scan(const T* x, T* y, int64_t n, Sum<T> sum) noexcept {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T* a = x + i * step;
    T* b = y + i * step;
    const Sum<T> s0 = term(a[0]), s1 = s0 + term(a[step]);
    const Sum<T> tail = term(a[2 * step]), s2 = s1 + tail, s3 = s1 + (tail + term(a[3 * step]));
    b[0] = rounded<T>(sum + s0);
    b[step] = rounded<T>(sum + s1);
    b[2 * step] = rounded<T>(sum + s2);
    sum += s3;
    b[3 * step] = rounded<T>(sum);
  }
  for (; i < n; ++i) {
    sum += term(x[i * step]);
    y[i * step] = rounded<T>(sum);
  }
  return sum;
}

template <class T>
Sum<T> total(const T* x, int64_t n) noexcept {
  Sum<T> lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int64_t k = 0; k < 8; ++k) lanes[k] += term(x[i + k]);
  for (; i < n; ++i) lanes[0] += term(x[i]);
  Sum<T> sum{};
  for (Sum<T> lane : lanes) sum += lane;
  return sum;
}

// A row of `blocks` blocks: the sum of each block first, then each from where the blocks before it end.
template <class T>
void scan_long_row(const T* x, T* y, int64_t n, bool reverse) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  const double cost = static_cast<double>(n) * kNsPerElement;
  std::vector<Sum<T>> starts(static_cast<size_t>(blocks) + 1);
  const auto first = [&](int64_t b) { return reverse ? std::max<int64_t>(0, n - (b + 1) * kBlock) : b * kBlock; };
  const auto last = [&](int64_t b) { return reverse ? n - b * kBlock : std::min(n, (b + 1) * kBlock); };
  parallel_for(blocks, 1, cost / 3, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) starts[static_cast<size_t>(b) + 1] = total(x + first(b), last(b) - first(b));
  });
  for (size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
  parallel_for(blocks, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t count = last(b) - first(b);
      if (reverse)
        scan<T, -1>(x + last(b) - 1, y + last(b) - 1, count, starts[static_cast<size_t>(b)]);
      else
        scan<T, 1>(x + first(b), y + first(b), count, starts[static_cast<size_t>(b)]);
    }
  });
}

template <class T>
void scan_rows(const T* x, T* y, const AxisSpace& space, bool reverse) {
  const int64_t n = space.length;
  if (space.outer < 4 && n >= 2 * kBlock) {
    for (int64_t o = 0; o < space.outer; ++o) scan_long_row(x + o * n, y + o * n, n, reverse);
    return;
  }
  const double cost = static_cast<double>(space.outer * n) * kNsPerElement;
  parallel_for(space.outer, std::max<int64_t>(1, 8192 / n), cost, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      if (reverse)
        scan<T, -1>(x + (o + 1) * n - 1, y + (o + 1) * n - 1, n, {});
      else
        scan<T, 1>(x + o * n, y + o * n, n, {});
    }
  });
}

template <class T>
void scan_columns(const T* x, T* y, const AxisSpace& space, bool reverse) {
  const int64_t width = std::min(space.inner, kColumns), blocks = (space.inner + width - 1) / width;
  const double cost = static_cast<double>(space.outer * space.length * space.inner) * kNsPerElement;
  const int64_t grain = std::max<int64_t>(1, 8192 / (space.length * width));
  parallel_for(space.outer * blocks, grain, cost, [&](int64_t begin, int64_t end) {
    Sum<T> sums[kColumns];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t column = b % blocks * width, columns = std::min(width, space.inner - column);
      std::fill(sums, sums + columns, Sum<T>{});
      for (int64_t i = 0; i < space.length; ++i) {
        const int64_t row = reverse ? space.length - 1 - i : i;
        const int64_t at = (b / blocks * space.length + row) * space.inner + column;
        const T* from = x + at;
        T* to = y + at;
        for (int64_t j = 0; j < columns; ++j) {
          sums[j] += term(from[j]);
          to[j] = rounded<T>(sums[j]);
        }
      }
    }
  });
}

void scan_on_host(KernelContext&, const Tensor& input, const AxisSpace& space, bool reverse, const Tensor& output) {
  if (input.size == 0) return;
  dispatch(input.dtype, [&]<class T>() {
    if (space.inner == 1)
      scan_rows(input.as<T>(), output.as<T>(), space, reverse);
    else
      scan_columns(input.as<T>(), output.as<T>(), space, reverse);
  });
}

}  // namespace

const decltype(cumulative_sum) cumulative_sum{"cumulative_sum", scan_on_host};

}  // namespace headrace
