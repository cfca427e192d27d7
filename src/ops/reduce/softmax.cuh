// Softmax along the middle dimension of outer x length x inner, and its gradient.
#pragma once

#include <cstdint>

namespace headrace::device {

struct SoftmaxArguments {
  const void* x;        // backward: dy
  const void* y;        // backward alone
  const void* lengths;  // how many leading elements of each row take part; null: all
  void* to;
  int64_t rows, length, inner;
  double scale;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/row.cuh"

namespace headrace::device {

template <class Length>
inline int64_t taking_part(const SoftmaxArguments& a, int64_t row) {
  if (!a.lengths) return a.length;
  const auto n = numeric_cast<int64_t>(static_cast<const Length*>(a.lengths)[row]);
  return n < 0 ? 0 : n < a.length ? n : a.length;
}

// Calls f(row, first element, elements that take part) for each row; those of threads that have none take no part.
template <class Length, class Threads, class F>
inline void for_each_row(const SoftmaxArguments& a, const F& f) {
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < a.rows;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = first + Threads::number();
    const bool has_row = row < a.rows;
    f(has_row, has_row ? row / a.inner * a.length * a.inner + row % a.inner : 0,
      has_row ? taking_part<Length>(a, row) : 0);
  }
}

// What takes no part is zero.
template <class Threads, class Out, int kPack>
inline void clear_behind(const RowElements<Out, kPack>& to, int64_t n, const SoftmaxArguments& a) {
  for (int64_t i = n + Threads::lane(); i < a.length; i += Threads::kThreads) to[i] = numeric_cast<Out>(0);
}

template <class Compute>
struct Slope {
  Compute dy, y;
};

// Sums of one thread in what it computes in, those of all threads in double.
template <class Compute, class In, class Out, class Length, bool kLog, int kWidth, int kHeld, int kPack>
inline void softmax(const SoftmaxArguments& a) {
  using Threads = Group<kWidth>;
  const auto scale = static_cast<Compute>(a.scale);
  for_each_row<Length, Threads>(a, [&](bool has_row, int64_t first, int64_t n) {
    const RowElements<const In, kPack> x{static_cast<const In*>(a.x) + first, a.inner};
    const RowElements<Out, kPack> to{static_cast<Out*>(a.to) + first, a.inner};
    const auto scaled = [&](int64_t i, Compute(&values)[kPack]) {
      x.load(i, values);
      for (Compute& value : values) value *= scale;
    };
    Row<Threads, kHeld, kPack, Compute, decltype(scaled)> row(n, scaled);
    Compute top = -std::numeric_limits<Compute>::infinity();
    row.each([&](Compute value) { top = Larger()(top, value); });
    top = Threads::combined(top, Larger());
    constexpr bool kKeepsPowers = kHeld > 0 && !kLog;
    const auto power = [&](Compute value) { return std::exp(value - top); };
    if constexpr (kKeepsPowers) row.change(power);
    Compute mine = 0;
    row.each([&](Compute value) { mine += kKeepsPowers ? value : power(value); });
    const double sum = Threads::combined(static_cast<double>(mine), Plus());
    const Compute last = kLog ? static_cast<Compute>(std::log(sum)) : Compute{1} / static_cast<Compute>(sum);
    row.each_pack([&](int64_t i, const Compute(&values)[kPack]) {
      to.store(i, [&](int j) {
        return kLog ? values[j] - top - last : (kKeepsPowers ? values[j] : power(values[j])) * last;
      });
    });
    if (has_row) clear_behind<Threads>(to, n, a);
  });
}

template <class Compute, class Head, class In, class Out, class Length, bool kLog, int kWidth, int kHeld, int kPack>
inline void softmax_gradient(const SoftmaxArguments& a) {
  using Threads = Group<kWidth>;
  const auto scale = static_cast<Compute>(a.scale);
  for_each_row<Length, Threads>(a, [&](bool has_row, int64_t first, int64_t n) {
    const RowElements<const Head, kPack> dys{static_cast<const Head*>(a.x) + first, a.inner};
    const RowElements<const In, kPack> ys{static_cast<const In*>(a.y) + first, a.inner};
    const RowElements<Out, kPack> to{static_cast<Out*>(a.to) + first, a.inner};
    const auto slopes = [&](int64_t i, Slope<Compute>(&values)[kPack]) {
      Compute dy[kPack], y[kPack];
      dys.load(i, dy);
      ys.load(i, y);
      for (int j = 0; j < kPack; ++j) values[j] = {dy[j], y[j]};
    };
    const Row<Threads, kHeld, kPack, Slope<Compute>, decltype(slopes)> row(n, slopes);
    Compute mine = 0;
    row.each([&](Slope<Compute> s) { mine += kLog ? s.dy : s.dy * s.y; });
    const auto sum = static_cast<Compute>(Threads::combined(static_cast<double>(mine), Plus()));
    row.each_pack([&](int64_t i, const Slope<Compute>(&s)[kPack]) {
      to.store(i, [&](int j) {
        return kLog ? scale * (s[j].dy - std::exp(s[j].y) * sum) : scale * s[j].y * (s[j].dy - sum);
      });
    });
    if (has_row) clear_behind<Threads>(to, n, a);
  });
}

}  // namespace headrace::device
#endif
