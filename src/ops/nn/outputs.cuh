// The gradient of the cross entropy of a softmax along the middle dimension of outer x length x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

struct LabelledArguments {
  const void* y;
  const void* labels;
  const double* counted;  // labels that are not ignored, in parts; null: they do not divide
  void* dx;
  int64_t outer, length, inner, parts;
  double scale, smoothing, ignored;
  int64_t ignores;  // whether rows whose label is `ignored` have no gradient
};

struct HingeArguments {
  const void* x;
  const void* labels;
  void* dx;
  int64_t outer, length, inner, is_linear;
  double margin, factor;
};

struct CountArguments {
  const void* labels;
  double* counted;  // by each block
  int64_t count;
  double ignored;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"
#include "ops/nn/hinge.h"

namespace headrace::device {

template <class Compute, class T, class Label>
inline void labelled_gradient(const LabelledArguments& a) {
  double scale = a.scale;
  if (a.counted) {
    double mine = 0;
    for (int64_t i = threadIdx.x; i < a.parts; i += kBlockThreads) mine += a.counted[i];
    const double counted = Group<kBlockThreads>::combined(mine, Plus());
    scale /= counted < 1 ? 1.0 : counted;
  }
  const auto factor = static_cast<Compute>(scale), smoothing = static_cast<Compute>(a.smoothing);
  const auto others = static_cast<Compute>(a.length > 1 ? a.smoothing / static_cast<double>(a.length - 1) : 0.0);
  const int64_t size = a.outer * a.length * a.inner;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t row = i / a.inner / a.length * a.inner + i % a.inner, place = i / a.inner % a.length;
    const auto label = numeric_cast<double>(static_cast<const Label*>(a.labels)[row]);
    const auto y = numeric_cast<Compute>(static_cast<const T*>(a.y)[i]);
    const bool is_label = label > -1 && label < static_cast<double>(a.length) && static_cast<int64_t>(label) == place;
    Compute dx = (is_label ? y - 1 + smoothing : y - others) * factor;
    if (a.ignores && std::trunc(label) == std::trunc(a.ignored)) dx = 0;
    static_cast<T*>(a.dx)[i] = numeric_cast<T>(dx);
  }
}

template <class Compute, class T, class Label>
inline void hinge_gradient(const HingeArguments& a) {
  for (int64_t i = first_of_thread(); i < a.outer * a.length * a.inner; i += all_threads()) {
    const int64_t row = i / a.inner / a.length * a.inner + i % a.inner, place = i / a.inner % a.length;
    const auto label = numeric_cast<double>(static_cast<const Label*>(a.labels)[row]);
    const auto x = numeric_cast<Compute>(static_cast<const T*>(a.x)[i]);
    static_cast<T*>(a.dx)[i] =
        numeric_cast<T>(hinge_slope(x, static_cast<double>(place) == std::trunc(label), static_cast<Compute>(a.margin),
                                    static_cast<Compute>(a.factor), a.is_linear != 0));
  }
}

template <class Label>
inline void count_labels(const CountArguments& a) {
  double mine = 0;
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads())
    if (std::trunc(numeric_cast<double>(static_cast<const Label*>(a.labels)[i])) != std::trunc(a.ignored)) mine += 1;
  const double counted = Group<kBlockThreads>::combined(mine, Plus());
  if (threadIdx.x == 0) a.counted[blockIdx.x] = counted;
}

}  // namespace headrace::device
#endif
