// Normalisation of planes, the neighbouring elements of one instance and group, and its gradient.
#pragma once

#include <cstdint>

namespace headrace::device {

struct GroupNormArguments {
  const void* x;
  const void* gamma;
  const void* beta;
  void* y;
  void* mean;
  void* deviation;
  int64_t planes, length, groups;
  double eps;
};

struct GroupNormGradientArguments {
  const void* dy;
  const void* x;
  const void* gamma;
  const void* mean;
  const void* deviation;
  void* dx;
  double* sums;  // of each plane: of dy * z, and of dy
  int64_t planes, length, groups;
};

struct GroupNormSumArguments {
  const double* sums;
  void* dgamma;
  void* dbeta;
  int64_t planes, groups;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

// Calls f(plane, elements, place of the first) for each plane, kWidth threads to one; threads without one have none.
template <int kWidth, class F>
inline void for_each_plane(int64_t planes, int64_t length, const F& f) {
  using Threads = Group<kWidth>;
  for (int64_t begin = blockIdx.x * static_cast<int64_t>(Threads::kCount); begin < planes;
       begin += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t plane = begin + Threads::number();
    f(plane, plane < planes ? length : 0, plane < planes ? plane * length : 0);
  }
}

// A plane without elements has mean and variance 0.
template <class Compute, class T, class Gamma, class Beta, int kWidth>
inline void group_norm(const GroupNormArguments& a) {
  using Threads = Group<kWidth>;
  const double count = a.length > 0 ? static_cast<double>(a.length) : 1;
  for_each_plane<kWidth>(a.planes, a.length, [&](int64_t plane, int64_t n, int64_t first) {
    const auto x = [&](int64_t i) { return numeric_cast<Compute>(static_cast<const T*>(a.x)[first + i]); };
    Compute sum = 0, squares = 0;
    for (int64_t i = Threads::lane(); i < n; i += kWidth) sum += x(i);
    const auto mean = static_cast<Compute>(Threads::combined(static_cast<double>(sum), Plus()) / count);
    for (int64_t i = Threads::lane(); i < n; i += kWidth) squares += (x(i) - mean) * (x(i) - mean);
    const double variance = Threads::combined(static_cast<double>(squares), Plus()) / count;
    if (plane >= a.planes) return;
    const double deviation = std::sqrt(variance + a.eps);
    const int64_t group = plane % a.groups;
    const auto gamma = numeric_cast<Compute>(static_cast<const Gamma*>(a.gamma)[group]);
    const auto beta = numeric_cast<Compute>(static_cast<const Beta*>(a.beta)[group]);
    const auto scale = static_cast<Compute>(static_cast<double>(gamma) / deviation);
    for (int64_t i = Threads::lane(); i < n; i += kWidth)
      static_cast<T*>(a.y)[first + i] = numeric_cast<T>((x(i) - mean) * scale + beta);
    if (Threads::lane() != 0) return;
    static_cast<T*>(a.mean)[plane] = numeric_cast<T>(mean);
    static_cast<T*>(a.deviation)[plane] = numeric_cast<T>(static_cast<Compute>(deviation));
  });
}

// With z = (x - mean) / deviation: dx = gamma / deviation * (dy - mean(dy) - z * mean(dy * z)).
template <class Compute, class T, class Gamma, class Mean, class Deviation, int kWidth>
inline void group_norm_gradient(const GroupNormGradientArguments& a) {
  using Threads = Group<kWidth>;
  for_each_plane<kWidth>(a.planes, a.length, [&](int64_t plane, int64_t n, int64_t first) {
    const int64_t own = plane < a.planes ? plane : 0;
    const auto mean = numeric_cast<Compute>(static_cast<const Mean*>(a.mean)[own]);
    const auto deviation = numeric_cast<Compute>(static_cast<const Deviation*>(a.deviation)[own]);
    const double inverse = 1 / static_cast<double>(deviation), count = static_cast<double>(a.length);
    const auto dy = [&](int64_t i) { return numeric_cast<Compute>(static_cast<const T*>(a.dy)[first + i]); };
    const auto centered = [&](int64_t i) {
      return numeric_cast<Compute>(static_cast<const T*>(a.x)[first + i]) - mean;
    };
    Compute mine = 0, mine_products = 0;
    for (int64_t i = Threads::lane(); i < n; i += kWidth) {
      mine += dy(i);
      mine_products += dy(i) * centered(i);
    }
    const double sum = Threads::combined(static_cast<double>(mine), Plus());
    const double products = Threads::combined(static_cast<double>(mine_products), Plus());
    if (plane >= a.planes) return;
    const auto gamma = numeric_cast<Compute>(static_cast<const Gamma*>(a.gamma)[plane % a.groups]);
    const auto scale = static_cast<Compute>(static_cast<double>(gamma) * inverse);
    const auto level = static_cast<Compute>(sum / count);
    const auto slope = static_cast<Compute>(products * inverse * inverse / count);
    for (int64_t i = Threads::lane(); i < n; i += kWidth)
      static_cast<T*>(a.dx)[first + i] = numeric_cast<T>(scale * (dy(i) - level - centered(i) * slope));
    if (Threads::lane() != 0) return;
    a.sums[2 * plane] = products * inverse;
    a.sums[2 * plane + 1] = sum;
  });
}

template <class Gamma>
inline void group_norm_sums(const GroupNormSumArguments& a) {
  for (int64_t group = first_of_thread(); group < a.groups; group += all_threads()) {
    double dgamma = 0, dbeta = 0;
    for (int64_t plane = group; plane < a.planes; plane += a.groups) {
      dgamma += a.sums[2 * plane];
      dbeta += a.sums[2 * plane + 1];
    }
    static_cast<Gamma*>(a.dgamma)[group] = numeric_cast<Gamma>(dgamma);
    static_cast<Gamma*>(a.dbeta)[group] = numeric_cast<Gamma>(dbeta);
  }
}

}  // namespace headrace::device
#endif
