#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "backend/cpu/parallel.h"
#include "ops/nn/batch_norm.h"
#include "ops/nn/batch_norm_rows.h"
#include "ops/nn/memory_order.h"
#include "ops/nn/stretch.h"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.3;  // of one pass
constexpr int64_t kBlockRows = 256;    // rows summed in the compute type before the sums go on in double
constexpr int64_t kStep = 4096;        // elements that are converted at a time
constexpr int64_t kMostParts = 32;     // partial sums
constexpr int64_t kPartElements = 1 << 15;
constexpr int64_t kWide = 64;  // columns from which on rows are long enough for vectors

// An array of one dtype in the memory order of the call.
struct Memory {
  const void* data;
  DType dtype;
};

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
    parts = std::clamp<int64_t>(size / kPartElements, 1, std::min(kMostParts, std::max<int64_t>(rows(), 1)));
    longest = columns() ? std::max<int64_t>(kStep / width, 4) * width : std::min(inner, kStep);
  }
  bool columns() const noexcept { return inner == 1; }
  int64_t rows() const noexcept { return size / channels; }
  int64_t planes() const noexcept { return size / inner; }
  int64_t count() const noexcept { return size / channels; }  // elements per channel

  int64_t channels, inner, size, width, parts;
  int64_t longest;  // elements of one step
};

// Calls f(first element, rows, width) for a range of rows of `channels`; the last call may have one incomplete row.
template <class F>
void for_column_steps(const Space& s, int64_t begin_row, int64_t end_row, F&& f) {
  int64_t at = begin_row * s.channels;
  const int64_t end = end_row * s.channels, most = s.longest / s.width;
  while (end - at >= s.width) {
    const int64_t rows = std::min(most, (end - at) / s.width);
    f(at, rows, s.width);
    at += rows * s.width;
  }
  if (at < end) f(at, 1, end - at);
}

// Calls f(first element, n, channel) for all pieces of planes.
template <class F>
void for_plane_steps(const Space& s, int64_t begin, int64_t end, int64_t longest, F&& f) {
  for (int64_t plane = begin; plane < end; ++plane)
    for (int64_t at = 0; at < s.inner; at += longest)
      f(plane * s.inner + at, std::min(longest, s.inner - at), plane % s.channels);
}

void for_planes(const Space& s, double cost, FunctionRef<void(int64_t, int64_t)> body) {
  parallel_for(s.planes(), std::max<int64_t>(1, kStep * 4 / s.inner), cost, body);
}

double pass_cost(const Space& s) { return static_cast<double>(s.size) * kNsPerElement; }

// --- statistics ------------------------------------------------------------------------------------------------------

template <class T>
class ColumnMoments {
 public:
  ColumnMoments(const Space& s, BatchMoments* result)
      : result_(result), scratch_(static_cast<size_t>(3 * s.width), T{0}), width_(s.width) {
    std::fill_n(result, s.width, BatchMoments{});
  }

  void add(const T* x, int64_t rows, int64_t width) {
    if (width < width_) flush(width_);
    if (rows_ == 0) set_shift(x, width);
    batch_norm_kernels(T{}).add_moments(x, rows, width, shift(), sum(), squares());
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
  void set_shift(const T* x, int64_t width) {
    for (int64_t i = 0; i < width; ++i) shift()[i] = is_first_ ? x[i] : static_cast<T>(result_[i].mean);
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

  BatchMoments* result_;
  std::vector<T> scratch_;
  int64_t width_, rows_ = 0;
  bool is_first_ = true;
};

template <class T>
std::vector<BatchMoments> moments_of(KernelContext& c, const Space& s, Memory x) {
  std::vector<BatchMoments> result(static_cast<size_t>(s.channels));
  if (s.columns()) {
    auto* partial = c.workspace<BatchMoments>(s.parts * s.width);
    parallel_for(s.parts, 1, pass_cost(s), [&](int64_t begin, int64_t end) {
      Stretch<T> source(x.data, x.dtype, s.longest);
      for (int64_t part = begin; part < end; ++part) {
        ColumnMoments<T> sums(s, partial + part * s.width);
        for_column_steps(
            s, part * s.rows() / s.parts, (part + 1) * s.rows() / s.parts,
            [&](int64_t at, int64_t rows, int64_t width) { sums.add(source.read(at, rows * width), rows, width); });
        sums.finish();
      }
    });
    for (int64_t i = 0; i < s.parts * s.width; ++i)
      result[static_cast<size_t>(i % s.width % s.channels)].merge(partial[i]);
    return result;
  }
  auto* partial = c.workspace<BatchMoments>(s.planes());
  for_planes(s, pass_cost(s), [&](int64_t begin, int64_t end) {
    Stretch<T> source(x.data, x.dtype, s.longest);
    std::fill(partial + begin, partial + end, BatchMoments{});
    for_plane_steps(s, begin, end, s.longest, [&](int64_t at, int64_t n, int64_t) {
      partial[at / s.inner].merge(batch_norm_kernels(T{}).plane_moments(source.read(at, n), n));
    });
  });
  for (int64_t i = 0; i < s.planes(); ++i) result[static_cast<size_t>(i % s.channels)].merge(partial[i]);
  return result;
}

// --- parameters ------------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> values_of(const Tensor& vector) {
  std::vector<T> values(static_cast<size_t>(vector.size));
  const ComputeType type = sizeof(T) == 8 ? ComputeType::kFloat64 : ComputeType::kFloat32;
  load_function(vector.dtype, type)(values.data(), vector.data, vector.strides[0], vector.size);
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
void normalize(const Space& s, Memory x, const Tensor& y, const Affine<T>& affine, bool relu) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels(T{});
  const auto body = [&](int64_t begin, int64_t end) {
    Stretch<T> source(x.data, x.dtype, s.longest), sink(y.data, y.dtype, s.longest);
    const auto step = [&](int64_t at, int64_t rows, int64_t width, auto&& run) {
      run(source.read(at, rows * width), sink.target(at));
      sink.written(at, rows * width);
    };
    if (s.columns())
      for_column_steps(s, begin, end, [&](int64_t at, int64_t rows, int64_t width) {
        step(at, rows, width,
             [&](const T* from, T* to) { kernels.normalize(from, to, rows, width, affine.at(0), relu); });
      });
    else
      for_plane_steps(s, begin, end, s.longest, [&](int64_t at, int64_t n, int64_t channel) {
        step(at, 1, n, [&](const T* from, T* to) { kernels.normalize_plane(from, to, n, affine.at(channel), relu); });
      });
  };
  if (s.columns())
    parallel_for(s.rows(), std::max<int64_t>(1, 4 * kStep / s.channels), pass_cost(s), body);
  else
    for_planes(s, pass_cost(s), body);
}

// --- gradients -------------------------------------------------------------------------------------------------------

// Per channel: sum of dy, and of dy * (x - mean).
struct Products {
  std::vector<double> sum, product;
};

template <class T>
void column_products(const Space& s, Memory dy, Memory x, const Affine<T>& affine, bool relu, int64_t part,
                     double* result) {
  Stretch<T> heads(dy.data, dy.dtype, s.longest), source(x.data, x.dtype, s.longest);
  std::vector<T> scratch(static_cast<size_t>(2 * s.width), T{0});
  std::fill_n(result, 2 * s.width, 0.0);
  int64_t gathered = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < scratch.size(); ++i) result[i] += static_cast<double>(scratch[i]);
    std::fill(scratch.begin(), scratch.end(), T{0});
    gathered = 0;
  };
  for_column_steps(
      s, part * s.rows() / s.parts, (part + 1) * s.rows() / s.parts, [&](int64_t at, int64_t rows, int64_t width) {
        batch_norm_kernels(T{}).add_products(heads.read(at, rows * width), source.read(at, rows * width), rows, width,
                                             affine.at(0), relu, scratch.data(), scratch.data() + s.width);
        gathered += rows;
        if (gathered >= kBlockRows) flush();
      });
  flush();
}

template <class T>
Products products_of(KernelContext& c, const Space& s, Memory dy, Memory x, const Affine<T>& affine, bool relu) {
  const auto channels = static_cast<size_t>(s.channels);
  Products result{std::vector<double>(channels), std::vector<double>(channels)};
  if (s.columns()) {
    auto* partial = c.workspace<double>(s.parts * 2 * s.width);
    parallel_for(s.parts, 1, 2 * pass_cost(s), [&](int64_t begin, int64_t end) {
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
  auto* partial = c.workspace<double>(2 * s.planes());
  for_planes(s, 2 * pass_cost(s), [&](int64_t begin, int64_t end) {
    Stretch<T> heads(dy.data, dy.dtype, s.longest), source(x.data, x.dtype, s.longest);
    std::fill(partial + 2 * begin, partial + 2 * end, 0.0);
    for_plane_steps(s, begin, end, s.longest, [&](int64_t at, int64_t n, int64_t channel) {
      double sum, product;
      batch_norm_kernels(T{}).plane_products(heads.read(at, n), source.read(at, n), n, affine.at(channel), relu, sum,
                                             product);
      partial[2 * (at / s.inner)] += sum;
      partial[2 * (at / s.inner) + 1] += product;
    });
  });
  for (int64_t i = 0; i < s.planes(); ++i) {
    result.sum[static_cast<size_t>(i % s.channels)] += partial[2 * i];
    result.product[static_cast<size_t>(i % s.channels)] += partial[2 * i + 1];
  }
  return result;
}

template <class T>
void data_gradient(const Space& s, Memory dy, Memory x, const Tensor& dx, const Affine<T>& affine,
                   const std::vector<T>& mean_gradient, const std::vector<T>& slope, bool relu) {
  const BatchNormKernels<T>& kernels = batch_norm_kernels(T{});
  const auto body = [&](int64_t begin, int64_t end) {
    Stretch<T> heads(dy.data, dy.dtype, s.longest), source(x.data, x.dtype, s.longest),
        sink(dx.data, dx.dtype, s.longest);
    const auto slopes = [&](int64_t channel) {
      return BatchSlope<T>{&mean_gradient[0] + channel, &slope[0] + channel};
    };
    if (s.columns())
      for_column_steps(s, begin, end, [&](int64_t at, int64_t rows, int64_t width) {
        kernels.gradient(heads.read(at, rows * width), source.read(at, rows * width), sink.target(at), rows, width,
                         affine.at(0), slopes(0), relu);
        sink.written(at, rows * width);
      });
    else
      for_plane_steps(s, begin, end, s.longest, [&](int64_t at, int64_t n, int64_t channel) {
        kernels.plane_gradient(heads.read(at, n), source.read(at, n), sink.target(at), n, affine.at(channel),
                               slopes(channel), relu);
        sink.written(at, n);
      });
  };
  if (s.columns())
    parallel_for(s.rows(), std::max<int64_t>(1, 4 * kStep / s.channels), 2 * pass_cost(s), body);
  else
    for_planes(s, 2 * pass_cost(s), body);
}

// --- calls -----------------------------------------------------------------------------------------------------------

int64_t axis_of(const KernelContext& c, int64_t axis) {
  return normalize_axis(axis, static_cast<int64_t>(c.output(0).shape.size()), c.name());
}

template <class T>
void finish_forward(KernelContext& c, const BatchNormCore& a, const Space& s, Memory x) {
  const Affine<T> affine(s, c.input(1), a.fix_gamma, c.input(2), c.output(1), c.output(2));
  normalize<T>(s, x, c.output(0), affine, a.activation == "relu");
}

template <class T>
void train(KernelContext& c, const BatchNormCore& a) {
  const Tensor& y = c.output(0);
  const Space s(y, axis_of(c, a.axis));
  const Memory x{in_order_of(c, c.input(0), y.strides), y.dtype};
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
  finish_forward<T>(c, a, Space(y, axis_of(c, a.axis)), {in_order_of(c, c.input(0), y.strides), y.dtype});
}

template <class T>
void backward(KernelContext& c, const BatchNormBack& a) {
  const Tensor& dx = c.output(0);
  const Space s(dx, axis_of(c, a.axis));
  const bool relu = a.activation == "relu";
  const Memory dy{in_order_of(c, c.input(0), dx.strides), dx.dtype},
      x{in_order_of(c, c.input(1), dx.strides), dx.dtype};
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
  data_gradient<T>(s, dy, x, dx, affine, level, slope, relu);
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
