#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "ops/nn/batch_norm.h"
#include "ops/nn/batch_norm_rows.h"
#include "ops/nn/memory_order.h"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.25;  // of one pass
constexpr int64_t kBlockRows = 256;     // rows summed in the compute type before the sums go on in double
constexpr int64_t kStepRows = 16;       // rows that go into sums at a time
constexpr int64_t kMostParts = 32;      // partial sums
constexpr int64_t kPartElements = 1 << 15;
constexpr int64_t kWide = 64;  // columns from which on rows are long enough for vectors

// Packed elements of one dtype, in the memory order of the call.
struct Memory {
  void* data;
  DType dtype;

  void* at(int64_t element) const noexcept {
    return static_cast<char*>(data) + element * static_cast<int64_t>(item_size(dtype));
  }
};

Memory memory_of(KernelContext& c, const Tensor& tensor, const Strides& order) {
  return {const_cast<void*>(in_order_of(c, tensor, order)), tensor.dtype};
}

template <class T>
constexpr ComputeType kCompute = sizeof(T) == 8 ? ComputeType::kFloat64 : ComputeType::kFloat32;

// How the elements of the call lie: (outer, channels, inner). With inner = 1 they are rows of `width` columns, a
// multiple of the channels, so that few channels fill vectors too; otherwise planes of `inner` elements.
struct Space {
  Space(const Tensor& result, int64_t axis) {
    const AxisSpace along = AxisSpace::along(result.shape, axis);
    channels = along.length;
    size = result.size;
    inner = size == 0 || (lies_channels_last(result) && axis == 1) ? 1 : along.inner;
    width = channels;
    if (channels < kWide) {
      width = std::lcm(channels, int64_t{16});
      while (width < kWide) width *= 2;
    }
    parts = std::clamp<int64_t>(size / kPartElements, 1, std::min(kMostParts, std::max<int64_t>(count(), 1)));
  }
  bool columns() const noexcept { return inner == 1; }
  int64_t count() const noexcept { return size / channels; }  // elements per channel, and rows of `channels`
  int64_t planes() const noexcept { return size / inner; }
  double cost(double passes) const noexcept { return static_cast<double>(size) * kNsPerElement * passes; }

  // Calls f(first element, rows, width) for the rows of `channels` in a range, at most `most` rows of `width` at a
  // time; the last call may have one incomplete row.
  template <class F>
  void for_rows(int64_t begin, int64_t end, int64_t most, F&& f) const {
    int64_t at = begin * channels;
    const int64_t stop = end * channels;
    while (stop - at >= width) {
      const int64_t rows = std::min(most, (stop - at) / width);
      f(at, rows, width);
      at += rows * width;
    }
    if (at < stop) f(at, 1, stop - at);
  }
  // The rows of one part, for sums.
  template <class F>
  void for_rows_of_part(int64_t part, F&& f) const {
    for_rows(part * count() / parts, (part + 1) * count() / parts, kStepRows, f);
  }
  // Runs body(begin, end) on ranges of rows of `channels`, or of planes.
  void run(double passes, FunctionRef<void(int64_t, int64_t)> body) const {
    const int64_t item = columns() ? channels : inner;
    parallel_for(size / item, std::max<int64_t>(1, kPartElements / 2 / item), cost(passes), body);
  }

  int64_t channels, inner, size, width, parts;
};

// --- statistics ------------------------------------------------------------------------------------------------------

template <class T>
class ColumnMoments {
 public:
  ColumnMoments(const Space& s, DType dtype, BatchMoments* result)
      : kernels_(batch_norm_kernels<T>(dtype)),
        load_(load_function(dtype, kCompute<T>)),
        result_(result),
        scratch_(static_cast<size_t>(3 * s.width), T{0}),
        width_(s.width) {
    std::fill_n(result, s.width, BatchMoments{});
  }

  void add(const void* x, int64_t rows, int64_t width) {
    if (width < width_) flush(width_);
    if (rows_ == 0) set_shift(x, width);
    kernels_.add_moments(x, rows, width, shift(), sum(), squares());
    rows_ += rows;
    if (rows_ >= kBlockRows || width < width_ || is_first_) flush(width);
  }
  void finish() { flush(width_); }

 private:
  T* shift() { return scratch_.data(); }
  T* sum() { return scratch_.data() + width_; }
  T* squares() { return scratch_.data() + 2 * width_; }
  // Elements are summed as differences from the mean so far; at first, from those of the first row, which may be far
  // from it, so that the first block is a short one.
  void set_shift(const void* x, int64_t width) {
    if (is_first_) return load_(shift(), x, 1, width);
    for (int64_t i = 0; i < width; ++i) shift()[i] = static_cast<T>(result_[i].mean);
  }
  void flush(int64_t width) {
    if (rows_ == 0) return;
    is_first_ = false;
    const auto n = static_cast<double>(rows_);
    for (int64_t i = 0; i < width; ++i) {
      const auto total = static_cast<double>(sum()[i]);
      result_[i].merge({n, static_cast<double>(shift()[i]) + total / n,
                        std::max(static_cast<double>(squares()[i]) - total * total / n, 0.0)});
    }
    std::fill_n(sum(), 2 * width_, T{0});
    rows_ = 0;
  }

  const BatchNormKernels<T>& kernels_;
  Load load_;
  BatchMoments* result_;
  std::vector<T> scratch_;
  int64_t width_, rows_ = 0;
  bool is_first_ = true;
};

template <class T>
std::vector<BatchMoments> moments_of(KernelContext& c, const Space& s, const Memory& x) {
  std::vector<BatchMoments> result(static_cast<size_t>(s.channels));
  if (s.columns()) {
    auto* partial = c.workspace<BatchMoments>(s.parts * s.width);
    parallel_for(s.parts, 1, s.cost(1), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        ColumnMoments<T> sums(s, x.dtype, partial + part * s.width);
        s.for_rows_of_part(part, [&](int64_t at, int64_t rows, int64_t width) { sums.add(x.at(at), rows, width); });
        sums.finish();
      }
    });
    for (int64_t i = 0; i < s.parts * s.width; ++i)
      result[static_cast<size_t>(i % s.width % s.channels)].merge(partial[i]);
    return result;
  }
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(x.dtype);
  auto* partial = c.workspace<BatchMoments>(s.planes());
  s.run(1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      partial[plane] = kernels.plane_moments(x.at(plane * s.inner), s.inner);
  });
  for (int64_t i = 0; i < s.planes(); ++i) result[static_cast<size_t>(i % s.channels)].merge(partial[i]);
  return result;
}

// --- parameters ------------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> values_of(const Tensor& vector) {
  std::vector<T> values(static_cast<size_t>(vector.size));
  load_function(vector.dtype, kCompute<T>)(values.data(), vector.data, vector.strides[0], vector.size);
  return values;
}

void store_values(const Tensor& vector, const std::vector<double>& values) {
  store_function(ComputeType::kFloat64, vector.dtype)(values.data(), vector.data, vector.strides[0], vector.size);
}

// Repeats what belongs to the channels for all columns.
template <class T>
void spread(std::vector<T>& values, int64_t width) {
  const size_t channels = values.size();
  values.resize(static_cast<size_t>(width));
  for (size_t i = channels; i < values.size(); ++i) values[i] = values[i - channels];
}

// (x - mean) * scale + beta per column or channel, the same bits forward and backward: which elements relu keeps is
// found out again.
template <class T>
struct Affine {
  std::vector<T> mean, scale, beta;

  Affine(const Space& s, const Tensor& gamma, bool fix_gamma, const Tensor& beta_values, const Tensor& means,
         const Tensor& inverse)
      : mean(values_of<T>(means)), scale(values_of<T>(inverse)), beta(values_of<T>(beta_values)) {
    if (!fix_gamma) {
      const std::vector<T> factors = values_of<T>(gamma);
      for (size_t i = 0; i < scale.size(); ++i) scale[i] *= factors[i];
    }
    for (auto* values : {&mean, &scale, &beta}) spread(*values, s.columns() ? s.width : s.channels);
  }
  BatchAffine<T> at(int64_t channel) const { return {&mean[0] + channel, &scale[0] + channel, &beta[0] + channel}; }
};

template <class T>
void normalize(const Space& s, const Memory& x, const Memory& y, const Affine<T>& affine, bool relu) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels<T>(x.dtype);
  s.run(1, [&](int64_t begin, int64_t end) {
    if (s.columns())
      return s.for_rows(begin, end, s.count(), [&](int64_t at, int64_t rows, int64_t width) {
        kernels.normalize(x.at(at), y.at(at), rows, width, affine.at(0), relu);
      });
    for (int64_t plane = begin; plane < end; ++plane)
      kernels.normalize_plane(x.at(plane * s.inner), y.at(plane * s.inner), s.inner, affine.at(plane % s.channels),
                              relu);
  });
}

// --- gradients -------------------------------------------------------------------------------------------------------

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

// --- calls -----------------------------------------------------------------------------------------------------------

int64_t axis_of(const KernelContext& c, int64_t axis) {
  return normalize_axis(axis, static_cast<int64_t>(c.output(0).shape.size()), c.name());
}

template <class T>
void finish_forward(KernelContext& c, const BatchNormCore& a, const Space& s, const Memory& x) {
  const Affine<T> affine(s, c.input(1), a.fix_gamma, c.input(2), c.output(1), c.output(2));
  normalize<T>(s, x, memory_of(c, c.output(0), c.output(0).strides), affine, a.activation == "relu");
}

template <class T>
void train(KernelContext& c, const BatchNormCore& a) {
  const Tensor& y = c.output(0);
  const Space s(y, axis_of(c, a.axis));
  const Memory x = memory_of(c, c.input(0), y.strides);
  const std::vector<BatchMoments> moments = moments_of<T>(c, s, x);
  std::vector<double> mean, inverse, moving_mean = values_of<double>(c.input(3)),
                                     moving_variance = values_of<double>(c.input(4));
  for (size_t i = 0; i < moments.size(); ++i) {
    const double variance = s.count() == 0 ? 0 : moments[i].squares / moments[i].count;
    mean.push_back(moments[i].mean);
    inverse.push_back(1 / std::sqrt(variance + a.eps));
    if (s.count() == 0) continue;
    moving_mean[i] += (moments[i].mean - moving_mean[i]) * (1 - a.momentum);
    moving_variance[i] += (variance - moving_variance[i]) * (1 - a.momentum);
  }
  store_values(c.output(1), mean);
  store_values(c.output(2), inverse);
  store_values(c.input(3), moving_mean);
  store_values(c.input(4), moving_variance);
  if (a.fix_gamma) store_values(c.input(1), std::vector<double>(mean.size(), 1.0));
  finish_forward<T>(c, a, s, x);
}

template <class T>
void predict(KernelContext& c, const BatchNormCore& a) {
  const Tensor& y = c.output(0);
  std::vector<double> inverse = values_of<double>(c.input(4));
  for (double& v : inverse) v = 1 / std::sqrt(v + a.eps);
  store_values(c.output(1), values_of<double>(c.input(3)));
  store_values(c.output(2), inverse);
  if (y.size == 0) return;
  finish_forward<T>(c, a, Space(y, axis_of(c, a.axis)), memory_of(c, c.input(0), y.strides));
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

}  // namespace

void batch_norm_train(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? train<double> : train<float>;
  run(c, a);
}

void batch_norm_predict(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? predict<double> : predict<float>;
  run(c, a);
}

void batch_norm_backward(KernelContext& c, const BatchNormBack& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? backward<double> : backward<float>;
  run(c, a);
}

}  // namespace headrace
