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
template <class Threads, class Out>
inline void clear_behind(Out* to, int64_t n, const SoftmaxArguments& a) {
  for (int64_t i = n + Threads::lane(); i < a.length; i += Threads::kThreads) to[i * a.inner] = numeric_cast<Out>(0);
}

template <class Compute>
struct Slope {
  Compute dy, y;
};

// Sums of one thread in what it computes in, those of all threads in double.
template <class Compute, class In, class Out, class Length, bool kLog, int kWidth, int kHeld>
inline void softmax(const SoftmaxArguments& a) {
  using Threads = Group<kWidth>;
  const auto scale = static_cast<Compute>(a.scale);
  for_each_row<Length, Threads>(a, [&](bool has_row, int64_t first, int64_t n) {
    const In* const x = static_cast<const In*>(a.x) + first;
    Out* const to = static_cast<Out*>(a.to) + first;
    const auto scaled = [&](int64_t i) { return numeric_cast<Compute>(x[i * a.inner]) * scale; };
    Row<Threads, kHeld, Compute, decltype(scaled)> row(n, scaled);
    Compute top = -std::numeric_limits<Compute>::infinity();
    row.each([&](int64_t, Compute value) { top = Larger()(top, value); });
    top = Threads::combined(top, Larger());
    constexpr bool kKeepsPowers = kHeld > 0 && !kLog;
    const auto power = [&](Compute value) { return std::exp(value - top); };
    if constexpr (kKeepsPowers) row.change(power);
    Compute mine = 0;
    row.each([&](int64_t, Compute value) { mine += kKeepsPowers ? value : power(value); });
    const double sum = Threads::combined(static_cast<double>(mine), Plus());
    const Compute last = kLog ? static_cast<Compute>(std::log(sum)) : Compute{1} / static_cast<Compute>(sum);
    row.each([&](int64_t i, Compute value) {
      to[i * a.inner] = numeric_cast<Out>(kLog ? value - top - last : (kKeepsPowers ? value : power(value)) * last);
    });
    if (has_row) clear_behind<Threads>(to, n, a);
  });
}

template <class Compute, class Head, class In, class Out, class Length, bool kLog, int kWidth, int kHeld>
inline void softmax_gradient(const SoftmaxArguments& a) {
  using Threads = Group<kWidth>;
  const auto scale = static_cast<Compute>(a.scale);
  for_each_row<Length, Threads>(a, [&](bool has_row, int64_t first, int64_t n) {
    const Head* const dys = static_cast<const Head*>(a.x) + first;
    const In* const ys = static_cast<const In*>(a.y) + first;
    Out* const to = static_cast<Out*>(a.to) + first;
    const auto at = [&](int64_t i) {
      return Slope<Compute>{numeric_cast<Compute>(dys[i * a.inner]), numeric_cast<Compute>(ys[i * a.inner])};
    };
    const Row<Threads, kHeld, Slope<Compute>, decltype(at)> row(n, at);
    Compute mine = 0;
    row.each([&](int64_t, Slope<Compute> s) { mine += kLog ? s.dy : s.dy * s.y; });
    const auto sum = static_cast<Compute>(Threads::combined(static_cast<double>(mine), Plus()));
    row.each([&](int64_t i, Slope<Compute> s) {
      const Compute dx = kLog ? scale * (s.dy - std::exp(s.y) * sum) : scale * s.y * (s.dy - sum);
      to[i * a.inner] = numeric_cast<Out>(dx);
    });
    if (has_row) clear_behind<Threads>(to, n, a);
  });
}

}  // namespace headrace::device
#endif
