#include <algorithm>
#include <cmath>
#include <vector>

#include "op/kernel.h"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/batch_norm_space.h"

namespace headrace {
namespace {

using namespace batch_norm_detail;

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

template <class T, class Attrs>
void finish_forward(KernelContext& c, const Attrs& a, const Space& s, const Memory& x, const Tensor& mean,
                    const Tensor& inverse) {
  const Affine<T> affine(s, c.input(1), a.fix_gamma, c.input(2), mean, inverse);
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
  finish_forward<T>(c, a, s, x, c.output(1), c.output(2));
}

template <class T>
void predict(KernelContext& c, const BatchNormCore& a) {
  const Tensor& y = c.output(0);
  std::vector<double> inverse = values_of<double>(c.input(4));
  for (double& v : inverse) v = 1 / std::sqrt(v + a.eps);
  store_values(c.output(1), values_of<double>(c.input(3)));
  store_values(c.output(2), inverse);
  if (y.size == 0) return;
  finish_forward<T>(c, a, Space(y, axis_of(c, a.axis)), memory_of(c, c.input(0), y.strides), c.output(1), c.output(2));
}

template <class T>
void again(KernelContext& c, const BatchNormAgain& a) {
  const Tensor& y = c.output(0);
  finish_forward<T>(c, a, Space(y, axis_of(c, a.axis)), memory_of(c, c.input(0), y.strides), c.input(3), c.input(4));
}

void train_on_host(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? train<double> : train<float>;
  run(c, a);
}

void predict_on_host(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? predict<double> : predict<float>;
  run(c, a);
}

void again_on_host(KernelContext& c, const BatchNormAgain& a) {
  if (c.output(0).size == 0) return;
  const auto run = c.output(0).dtype == DType::kFloat64 ? again<double> : again<float>;
  run(c, a);
}

void affine_on_host(KernelContext& c, double eps, bool fix_gamma) {
  const float *gamma = c.input(0).as<const float>(), *beta = c.input(1).as<const float>();
  const float *mean = c.input(2).as<const float>(), *variance = c.input(3).as<const float>();
  float *scale = c.output(0).as<float>(), *shift = c.output(1).as<float>();
  for (int64_t i = 0; i < c.output(0).size; ++i) {
    scale[i] = (fix_gamma ? 1.0f : gamma[i]) / std::sqrt(variance[i] + static_cast<float>(eps));
    shift[i] = beta[i] - mean[i] * scale[i];
  }
}

}  // namespace

const decltype(batch_norm_affine) batch_norm_affine{"batch_norm", affine_on_host};
const decltype(batch_norm_train) batch_norm_train{"batch_norm", train_on_host};
const decltype(batch_norm_predict) batch_norm_predict{"batch_norm", predict_on_host};
const decltype(batch_norm_again) batch_norm_again{"batch_norm", again_on_host};

}  // namespace headrace
