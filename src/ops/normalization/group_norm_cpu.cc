#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/stretch.h"
#include "op/kernel.h"
#include "ops/normalization/batch_norm_rows.h"
#include "ops/normalization/group_norm.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.3;  // of one pass
constexpr int64_t kGrain = 1 << 14;    // elements

// Planes are (instance, group), each of `length` neighbouring elements.
struct Planes {
  Planes(const Tensor& data, const Tensor& statistics)
      : count(statistics.size), length(count == 0 ? 0 : data.size / count), groups(statistics.shape[1]) {}

  void run(double passes, FunctionRef<void(int64_t, int64_t)> body) const {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(length, 1));
    parallel_for(count, grain, static_cast<double>(count * length) * kNsPerElement * passes, body);
  }
  void* at(const Tensor& data, int64_t plane) const noexcept {
    return data.as<char>() + plane * length * static_cast<int64_t>(item_size(data.dtype));
  }

  int64_t count, length, groups;
};

template <class T>
std::vector<T> values_of(const Tensor& vector) {
  Stretch<T> source(vector.data, vector.dtype, vector.size);
  const T* values = source.read(0, vector.size);
  return {values, values + vector.size};
}

template <class T>
void store_values(const Tensor& vector, const std::vector<T>& values) {
  Stretch<T> sink(vector.data, vector.dtype, vector.size);
  std::copy(values.begin(), values.end(), sink.target(0));
  sink.written(0, vector.size);
}

template <class T>
void forward(KernelContext& c, const GroupNormCore& a) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(c.input(0).dtype);
  const Tensor &x = c.input(0), &y = c.output(0);
  const Planes planes(x, c.output(1));
  const std::vector<T> gamma = values_of<T>(c.input(1)), beta = values_of<T>(c.input(2));
  std::vector<T> means(static_cast<size_t>(planes.count)), deviations(means.size());
  planes.run(2, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const auto i = static_cast<size_t>(plane), group = static_cast<size_t>(plane % planes.groups);
      const BatchMoments moments = kernels.plane_moments(planes.at(x, plane), planes.length);
      const double variance = planes.length == 0 ? 0 : moments.squares / static_cast<double>(planes.length);
      const double deviation = std::sqrt(variance + a.eps);
      means[i] = static_cast<T>(moments.mean);
      deviations[i] = static_cast<T>(deviation);
      const T scale = static_cast<T>(static_cast<double>(gamma[group]) / deviation);
      kernels.normalize_plane(planes.at(x, plane), planes.at(y, plane), planes.length,
                              {&means[i], &scale, &beta[group]}, false);
    }
  });
  store_values(c.output(1), means);
  store_values(c.output(2), deviations);
}

template <class T>
void backward(KernelContext& c) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(c.input(1).dtype);
  const Tensor &dy = c.input(0), &x = c.input(1), &dx = c.output(0);
  const Planes planes(x, c.input(3));
  const std::vector<T> gamma = values_of<T>(c.input(2)), means = values_of<T>(c.input(3)),
                       deviations = values_of<T>(c.input(4));
  std::vector<double> sums(2 * means.size());
  planes.run(4, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const auto i = static_cast<size_t>(plane), group = static_cast<size_t>(plane % planes.groups);
      const auto n = static_cast<double>(planes.length), inverse = 1 / static_cast<double>(deviations[i]);
      const T scale = static_cast<T>(static_cast<double>(gamma[group]) * inverse);
      const BatchAffine<T> affine{&means[i], &scale, &scale};
      double sum, products;
      kernels.plane_products(planes.at(dy, plane), planes.at(x, plane), planes.length, affine, false, sum, products);
      const T level = static_cast<T>(sum / n), slope = static_cast<T>(products * inverse * inverse / n);
      kernels.plane_gradient(planes.at(dy, plane), planes.at(x, plane), planes.at(dx, plane), planes.length, affine,
                             {&level, &slope}, false);
      sums[2 * i] = products * inverse;
      sums[2 * i + 1] = sum;
    }
  });
  std::vector<double> dgamma(gamma.size()), dbeta(gamma.size());
  for (size_t i = 0; i < means.size(); ++i) {
    dgamma[i % gamma.size()] += sums[2 * i];
    dbeta[i % gamma.size()] += sums[2 * i + 1];
  }
  store_values(c.output(1), dgamma);
  store_values(c.output(2), dbeta);
}

void forward_on_host(KernelContext& c, const GroupNormCore& a) {
  const auto run = c.input(0).dtype == DType::kFloat64 ? forward<double> : forward<float>;
  run(c, a);
}

void backward_on_host(KernelContext& c) {
  const auto run = c.input(1).dtype == DType::kFloat64 ? backward<double> : backward<float>;
  run(c);
}

}  // namespace

const decltype(group_norm_forward) group_norm_forward{"group_norm_forward", forward_on_host};
const decltype(group_norm_backward) group_norm_backward{"group_norm_backward", backward_on_host};

}  // namespace headrace
