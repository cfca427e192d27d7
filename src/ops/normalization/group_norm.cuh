// Normalisation of planes of neighbouring elements, (instance, group) after (instance, group).
#pragma once

#include <cstdint>

namespace headrace::device {

struct GroupNormArguments {
  const void *x, *dy;  // dy: backward alone
  const void *gamma, *beta;
  void *to, *mean, *deviation;  // backward reads the latter two
  double* sums;                 // backward: of each plane dy * (x - mean) / deviation, and dy
  int64_t planes, length, groups;
  double eps;
};

// Gradients of gamma and beta out of the sums of planes.
struct GroupSumArguments {
  const double* sums;
  void *dgamma, *dbeta;
  int64_t instances, groups;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/group.cuh"

namespace headrace::device {

// Sums of value(i) over a plane, by the whole block.
template <class F>
inline double sum_of_plane(int64_t length, const F& value) {
  double mine = 0;
  for (int64_t i = threadIdx.x; i < length; i += kBlockThreads) mine += static_cast<double>(value(i));
  return Group<kBlockThreads>::combined(mine, Plus());
}

template <class Compute, class T, class Gamma, class Beta>
inline void group_norm(const GroupNormArguments& a) {
  for (int64_t plane = blockIdx.x; plane < a.planes; plane += gridDim.x) {
    const T* const x = static_cast<const T*>(a.x) + plane * a.length;
    T* const to = static_cast<T*>(a.to) + plane * a.length;
    const auto at = [&](int64_t i) { return numeric_cast<Compute>(x[i]); };
    const auto n = static_cast<double>(a.length);
    const auto mean = static_cast<Compute>(a.length == 0 ? 0 : sum_of_plane(a.length, at) / n);
    const double squares = sum_of_plane(a.length, [&](int64_t i) { return (at(i) - mean) * (at(i) - mean); });
    const double deviation = std::sqrt((a.length == 0 ? 0 : squares / n) + a.eps);
    const int64_t group = plane % a.groups;
    const auto gamma = numeric_cast<double>(static_cast<const Gamma*>(a.gamma)[group]);
    const auto beta = numeric_cast<Compute>(static_cast<const Beta*>(a.beta)[group]);
    const auto scale = static_cast<Compute>(gamma / deviation);
    for (int64_t i = threadIdx.x; i < a.length; i += kBlockThreads)
      to[i] = numeric_cast<T>((at(i) - mean) * scale + beta);
    if (threadIdx.x != 0) continue;
    static_cast<T*>(a.mean)[plane] = numeric_cast<T>(mean);
    static_cast<T*>(a.deviation)[plane] = numeric_cast<T>(static_cast<Compute>(deviation));
  }
}

template <class Compute, class T, class Gamma, class Head, class Mean, class Deviation>
inline void group_norm_gradient(const GroupNormArguments& a) {
  for (int64_t plane = blockIdx.x; plane < a.planes; plane += gridDim.x) {
    const T* const x = static_cast<const T*>(a.x) + plane * a.length;
    const Head* const heads = static_cast<const Head*>(a.dy) + plane * a.length;
    T* const to = static_cast<T*>(a.to) + plane * a.length;
    const auto mean = numeric_cast<Compute>(static_cast<const Mean*>(a.mean)[plane]);
    const auto centered = [&](int64_t i) { return numeric_cast<Compute>(x[i]) - mean; };
    const auto dy = [&](int64_t i) { return numeric_cast<Compute>(heads[i]); };
    const double inverse = 1 / numeric_cast<double>(static_cast<const Deviation*>(a.deviation)[plane]);
    const auto gamma = numeric_cast<double>(static_cast<const Gamma*>(a.gamma)[plane % a.groups]);
    const double sum = sum_of_plane(a.length, dy);
    const double products = sum_of_plane(a.length, [&](int64_t i) { return dy(i) * centered(i); });
    const auto n = static_cast<double>(a.length);
    const auto scale = static_cast<Compute>(gamma * inverse), level = static_cast<Compute>(sum / n),
               slope = static_cast<Compute>(products * inverse * inverse / n);
    for (int64_t i = threadIdx.x; i < a.length; i += kBlockThreads)
      to[i] = numeric_cast<T>((dy(i) - level - slope * centered(i)) * scale);
    if (threadIdx.x != 0) continue;
    a.sums[2 * plane] = products * inverse;
    a.sums[2 * plane + 1] = sum;
  }
}

template <class Gamma>
inline void group_norm_sums(const GroupSumArguments& a) {
  for (int64_t group = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; group < a.groups;
       group += gridDim.x * static_cast<int64_t>(blockDim.x)) {
    double dgamma = 0, dbeta = 0;
    for (int64_t i = 0; i < a.instances; ++i) {
      dgamma += a.sums[2 * (i * a.groups + group)];
      dbeta += a.sums[2 * (i * a.groups + group) + 1];
    }
    static_cast<Gamma*>(a.dgamma)[group] = numeric_cast<Gamma>(dgamma);
    static_cast<Gamma*>(a.dbeta)[group] = numeric_cast<Gamma>(dbeta);
  }
}

}  // namespace headrace::device
#endif
