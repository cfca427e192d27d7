#include <algorithm>
#include <vector>

#include "op/kernel.h"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/batch_norm_space.h"

namespace headrace {
namespace {

using namespace batch_norm_detail;

// Per channel: sum of dy, and of dy * (x - mean).
struct Products {
  std::vector<double> sum, product;
};

template <class T>
void column_products(const Space& s, const Memory& dy, const Memory& x, const Affine<T>& affine, bool relu,
                     int64_t part, double* result) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(x.dtype);
  std::vector<T> scratch(static_cast<size_t>(2 * s.width), T{0});
  std::fill_n(result, 2 * s.width, 0.0);
  int64_t gathered = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < scratch.size(); ++i) result[i] += static_cast<double>(scratch[i]);
    std::fill(scratch.begin(), scratch.end(), T{0});
    gathered = 0;
  };
  s.for_rows_of_part(part, [&](int64_t at, int64_t rows, int64_t width) {
    kernels.add_products(dy.at(at), x.at(at), rows, width, affine.at(0), relu, scratch.data(),
                         scratch.data() + s.width);
    gathered += rows;
    if (gathered >= kBlockRows) flush();
  });
  flush();
}

template <class T>
Products products_of(KernelContext& c, const Space& s, const Memory& dy, const Memory& x, const Affine<T>& affine,
                     bool relu) {
  const auto channels = static_cast<size_t>(s.channels);
  Products result{std::vector<double>(channels), std::vector<double>(channels)};
  if (s.columns()) {
    auto* partial = c.workspace<double>(s.parts * 2 * s.width);
    parallel_for(s.parts, 1, s.cost(2), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        column_products(s, dy, x, affine, relu, part, partial + part * 2 * s.width);
    });
    for (int64_t part = 0; part < s.parts; ++part)
      for (int64_t i = 0; i < s.width; ++i) {
        const double* from = partial + part * 2 * s.width + i;
        result.sum[static_cast<size_t>(i % s.channels)] += from[0];
        result.product[static_cast<size_t>(i % s.channels)] += from[s.width];
      }
    return result;
  }
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(x.dtype);
  auto* partial = c.workspace<double>(2 * s.planes());
  s.run(2, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      kernels.plane_products(dy.at(plane * s.inner), x.at(plane * s.inner), s.inner, affine.at(plane % s.channels),
                             relu, partial[2 * plane], partial[2 * plane + 1]);
  });
  for (int64_t i = 0; i < s.planes(); ++i) {
    result.sum[static_cast<size_t>(i % s.channels)] += partial[2 * i];
    result.product[static_cast<size_t>(i % s.channels)] += partial[2 * i + 1];
  }
  return result;
}

template <class T>
void data_gradient(const Space& s, const Memory& dy, const Memory& x, const Memory& dx, const Affine<T>& affine,
                   const std::vector<T>& mean_gradient, const std::vector<T>& slope, bool relu) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(x.dtype);
  const auto slopes = [&](int64_t channel) { return BatchSlope<T>{&mean_gradient[0] + channel, &slope[0] + channel}; };
  s.run(2, [&](int64_t begin, int64_t end) {
    if (s.columns())
      return s.for_rows(begin, end, s.count(), [&](int64_t at, int64_t rows, int64_t width) {
        kernels.gradient(dy.at(at), x.at(at), dx.at(at), rows, width, affine.at(0), slopes(0), relu);
      });
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t at = plane * s.inner, channel = plane % s.channels;
      kernels.plane_gradient(dy.at(at), x.at(at), dx.at(at), s.inner, affine.at(channel), slopes(channel), relu);
    }
  });
}

template <class T>
void backward(KernelContext& c, const BatchNormBack& a) {
  const Tensor& dx = c.output(0);
  const Space s(dx, axis_of(c, a.axis));
  const bool relu = a.activation == "relu";
  const Memory dy = memory_of(c, c.input(0), dx.strides), x = memory_of(c, c.input(1), dx.strides);
  const Affine<T> affine(s, c.input(2), a.fix_gamma, c.input(3), c.input(4), c.input(5));
  const Products products = products_of<T>(c, s, dy, x, affine, relu);
  std::vector<double> dgamma = values_of<double>(c.input(5));
  const auto n = static_cast<double>(std::max<int64_t>(s.count(), 1));
  std::vector<T> level(dgamma.size()), slope(dgamma.size());
  for (size_t i = 0; i < dgamma.size(); ++i) {
    if (a.through_statistics) {
      level[i] = static_cast<T>(products.sum[i] / n);
      slope[i] = static_cast<T>(products.product[i] * dgamma[i] * dgamma[i] / n);
    }
    dgamma[i] *= a.fix_gamma ? 0 : products.product[i];
  }
  store_values(c.output(1), dgamma);
  store_values(c.output(2), products.sum);
  for (auto* values : {&level, &slope}) spread(*values, s.columns() ? s.width : s.channels);
  data_gradient<T>(s, dy, x, memory_of(c, dx, dx.strides), affine, level, slope, relu);
}

void backward_on_host(KernelContext& c, const BatchNormBack& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? backward<double> : backward<float>;
  run(c, a);
}

}  // namespace

const decltype(batch_norm_backward) batch_norm_backward{"batch_norm's gradient", backward_on_host};

}  // namespace headrace
