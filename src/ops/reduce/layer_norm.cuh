// Layer normalisation of rows along the middle dimension of outer x length x inner; its gradient along the last one.
#pragma once

#include <cstdint>

namespace headrace::device {

struct LayerNormArguments {
  const void* x;
  const void* gamma;
  const void* beta;
  void* y;
  void* mean;  // these two: of each row, or null
  void* deviation;
  int64_t rows, length, inner;
  double eps;
};

struct LayerNormGradientArguments {
  const void* dy;
  const void* x;
  const void* gamma;
  void* dx;
  void* moments;  // mean and 1 / deviation of each row, in what is computed in; null: not wanted
  int64_t rows, length;
  double eps;
};

// Part p holds, for rows [p * rows_of_part, ...), the sums of dy * z and then those of dy.
struct LayerNormPartArguments {
  const void* dy;
  const void* x;
  const void* moments;
  void* parts;
  int64_t rows, length, rows_of_part, count;
};

struct LayerNormSumArguments {
  const void* parts;
  void* dgamma;
  void* dbeta;
  int64_t length, count;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/grid.cuh"
#include "op/device/row.cuh"

namespace headrace::device {

template <class Compute>
struct Moments {
  double mean, deviation;
  Compute center, scale;
};

// Of a row, which every thread of the group gets. value_of() makes elements of what the row holds.
template <class Compute, class Threads, class Elements, class ValueOf>
inline Moments<Compute> moments_of(const Elements& row, int64_t n, double eps, const ValueOf& value_of) {
  Compute mine = 0;
  row.each([&](const auto& held) { mine += value_of(held); });
  const double mean = Threads::combined(static_cast<double>(mine), Plus()) / static_cast<double>(n);
  const auto center = static_cast<Compute>(mean);
  Compute squares = 0;
  row.each([&](const auto& held) {
    const Compute off = value_of(held) - center;
    squares += off * off;
  });
  const double variance = Threads::combined(static_cast<double>(squares), Plus()) / static_cast<double>(n);
  const double deviation = std::sqrt(variance + eps);
  return {mean, deviation, center, static_cast<Compute>(1 / deviation)};
}

template <class Compute, class T, class Gamma, class Beta, int kWidth, int kHeld, int kPack>
inline void layer_norm(const LayerNormArguments& a) {
  using Threads = Group<kWidth>;
  const RowElements<const Gamma, kPack> gammas{static_cast<const Gamma*>(a.gamma), 1};
  const RowElements<const Beta, kPack> betas{static_cast<const Beta*>(a.beta), 1};
  for (int64_t begin = blockIdx.x * static_cast<int64_t>(Threads::kCount); begin < a.rows;
       begin += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = begin + Threads::number();
    const bool has_row = row < a.rows;
    const int64_t n = has_row ? a.length : 0;
    const int64_t first = has_row ? row / a.inner * a.length * a.inner + row % a.inner : 0;
    const RowElements<const T, kPack> x{static_cast<const T*>(a.x) + first, a.inner};
    const RowElements<T, kPack> y{static_cast<T*>(a.y) + first, a.inner};
    const auto load = [&](int64_t i, Compute(&values)[kPack]) { x.load(i, values); };
    const Row<Threads, kHeld, kPack, Compute, decltype(load)> elements(n, load);
    const auto m = moments_of<Compute, Threads>(elements, n, a.eps, [](Compute value) { return value; });
    elements.each_pack([&](int64_t i, const Compute(&values)[kPack]) {
      Compute gamma[kPack], beta[kPack];
      gammas.load(i, gamma);
      betas.load(i, beta);
      y.store(i, [&](int j) { return (values[j] - m.center) * m.scale * gamma[j] + beta[j]; });
    });
    if (!has_row || !a.mean || Threads::lane() != 0) continue;
    static_cast<T*>(a.mean)[row] = numeric_cast<T>(static_cast<Compute>(m.mean));
    static_cast<T*>(a.deviation)[row] = numeric_cast<T>(static_cast<Compute>(m.deviation));
  }
}

template <class Compute>
struct NormSlope {
  Compute x, g;
};

// With z = (x - mean) / deviation and g = dy * gamma: dx = (g - mean(g) - z * mean(g * z)) / deviation.
template <class Compute, class Head, class T, class Parameter, int kWidth, int kHeld, int kPack>
inline void layer_norm_gradient(const LayerNormGradientArguments& a) {
  using Threads = Group<kWidth>;
  const RowElements<const Parameter, kPack> gammas{static_cast<const Parameter*>(a.gamma), 1};
  for (int64_t begin = blockIdx.x * static_cast<int64_t>(Threads::kCount); begin < a.rows;
       begin += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = begin + Threads::number();
    const int64_t n = row < a.rows ? a.length : 0, first = row < a.rows ? row * a.length : 0;
    const RowElements<const T, kPack> xs{static_cast<const T*>(a.x) + first, 1};
    const RowElements<const Head, kPack> dys{static_cast<const Head*>(a.dy) + first, 1};
    const RowElements<T, kPack> dxs{static_cast<T*>(a.dx) + first, 1};
    const auto slopes = [&](int64_t i, NormSlope<Compute>(&values)[kPack]) {
      Compute x[kPack], dy[kPack], gamma[kPack];
      xs.load(i, x);
      dys.load(i, dy);
      gammas.load(i, gamma);
      for (int j = 0; j < kPack; ++j) values[j] = {x[j], dy[j] * gamma[j]};
    };
    const Row<Threads, kHeld, kPack, NormSlope<Compute>, decltype(slopes)> elements(n, slopes);
    const auto m = moments_of<Compute, Threads>(elements, n, a.eps, [](NormSlope<Compute> s) { return s.x; });
    Compute sum = 0, dot = 0;
    elements.each([&](NormSlope<Compute> s) {
      sum += s.g;
      dot += s.g * ((s.x - m.center) * m.scale);
    });
    const auto count = static_cast<double>(n);
    const auto mean_g = static_cast<Compute>(Threads::combined(static_cast<double>(sum), Plus()) / count);
    const auto mean_gz = static_cast<Compute>(Threads::combined(static_cast<double>(dot), Plus()) / count);
    elements.each_pack([&](int64_t i, const NormSlope<Compute>(&s)[kPack]) {
      dxs.store(i, [&](int j) {
        const Compute z = (s[j].x - m.center) * m.scale;
        return (s[j].g - mean_g - z * mean_gz) * m.scale;
      });
    });
    if (n == 0 || !a.moments || Threads::lane() != 0) continue;
    static_cast<Compute*>(a.moments)[2 * row] = m.center;
    static_cast<Compute*>(a.moments)[2 * row + 1] = m.scale;
  }
}

// One block for each part and kCount columns, kWidth threads to a column.
template <class Compute, class Head, class T, int kWidth>
inline void layer_norm_parts(const LayerNormPartArguments& a) {
  using Threads = Group<kWidth, true>;
  const int64_t blocks = (a.length + Threads::kCount - 1) / Threads::kCount;
  for (int64_t piece = blockIdx.x; piece < blocks * a.count; piece += gridDim.x) {
    const int64_t part = piece / blocks, column = piece % blocks * Threads::kCount + Threads::number();
    const int64_t begin = part * a.rows_of_part;
    const int64_t end = begin + a.rows_of_part < a.rows ? begin + a.rows_of_part : a.rows;
    Compute dgamma = 0, dbeta = 0;
    for (int64_t row = begin + Threads::lane(); column < a.length && row < end; row += kWidth) {
      const auto dy = numeric_cast<Compute>(static_cast<const Head*>(a.dy)[row * a.length + column]);
      const auto x = numeric_cast<Compute>(static_cast<const T*>(a.x)[row * a.length + column]);
      const Compute* const moments = static_cast<const Compute*>(a.moments) + 2 * row;
      dgamma += dy * ((x - moments[0]) * moments[1]);
      dbeta += dy;
    }
    dgamma = Threads::combined(dgamma, Plus());
    dbeta = Threads::combined(dbeta, Plus());
    if (column >= a.length || Threads::lane() != 0) continue;
    Compute* const sums = static_cast<Compute*>(a.parts) + 2 * part * a.length;
    sums[column] = dgamma;
    sums[a.length + column] = dbeta;
  }
}

template <class Compute, class Parameter>
inline void layer_norm_sums(const LayerNormSumArguments& a) {
  for (int64_t column = first_of_thread(); column < a.length; column += all_threads()) {
    Compute dgamma = 0, dbeta = 0;
    for (int64_t part = 0; part < a.count; ++part) {
      const Compute* const sums = static_cast<const Compute*>(a.parts) + 2 * part * a.length;
      dgamma += sums[column];
      dbeta += sums[a.length + column];
    }
    static_cast<Parameter*>(a.dgamma)[column] = numeric_cast<Parameter>(dgamma);
    static_cast<Parameter*>(a.dbeta)[column] = numeric_cast<Parameter>(dbeta);
  }
}

}  // namespace headrace::device
#endif
