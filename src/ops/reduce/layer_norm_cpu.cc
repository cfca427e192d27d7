#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "ops/reduce/layer_norm.h"
#include "ops/reduce/layer_norm_rows.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.5;
constexpr int64_t kMostParts = 16;     // partial sums of the parameters' gradients
constexpr int64_t kPartElements = 1 << 15;

// Rows of a packed array in the compute type: the memory itself, or one row converted at a time. One per thread.
template <class T>
class Rows {
 public:
  Rows(const Tensor& tensor, int64_t n, ComputeType type)
      : data_(tensor.as<char>()),
        item_(static_cast<int64_t>(headrace::item_size(tensor.dtype))),
        n_(n),
        load_(load_function(tensor.dtype, type)),
        store_(store_function(type, tensor.dtype)),
        buffer_(tensor.dtype == dtype_of(type) ? 0 : static_cast<size_t>(n)) {}

  const T* read(int64_t row) {
    if (buffer_.empty()) return place(row);
    load_(buffer_.data(), data_ + row * n_ * item_, 1, n_);
    return buffer_.data();
  }
  T* target(int64_t row) { return buffer_.empty() ? place(row) : buffer_.data(); }
  void written(int64_t row) {
    if (!buffer_.empty()) store_(buffer_.data(), data_ + row * n_ * item_, 1, n_);
  }

 private:
  T* place(int64_t row) { return reinterpret_cast<T*>(data_) + row * n_; }
  char* data_;
  int64_t item_, n_;
  Load load_;
  Store store_;
  std::vector<T> buffer_;
};

template <class T>
void forward(KernelContext& c, double eps, ComputeType type) {
  const Tensor &data = c.input(0), &out = c.output(0);
  const int64_t n = c.input(1).size, rows = n == 0 ? 0 : data.size / n;
  const LayerNormKernels<T>& kernels = layer_norm_kernels(T{});
  const double cost = static_cast<double>(data.size) * kNsPerElement;
  const Store store = c.output_count() > 1 ? store_function(ComputeType::kFloat64, c.output(1).dtype) : nullptr;
  const auto item = static_cast<int64_t>(item_size(out.dtype));
  parallel_for(rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, n)), cost, [&](int64_t begin, int64_t end) {
    Rows<T> x(data, n, type), gamma(c.input(1), n, type), beta(c.input(2), n, type), y(out, n, type);
    const T *g = gamma.read(0), *b = beta.read(0);
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x.read(r);
      const RowMoments moments = kernels.moments(row, n, eps);
      kernels.normalize(row, g, b, y.target(r), n, moments);
      y.written(r);
      if (store) {
        store(&moments.mean, c.output(1).as<char>() + r * item, 1, 1);
        store(&moments.deviation, c.output(2).as<char>() + r * item, 1, 1);
      }
    }
  });
}

template <class T>
void backward(KernelContext& c, double eps, ComputeType type) {
  const Tensor &head = c.input(0), &data = c.input(1);
  const int64_t n = c.input(2).size, rows = n == 0 ? 0 : data.size / n;
  const LayerNormKernels<T>& kernels = layer_norm_kernels(T{});
  // The number of parts follows from the size alone, so that the sums do not depend on the threads.
  const int64_t parts = std::clamp<int64_t>(data.size / kPartElements, 1, std::min(kMostParts, std::max<int64_t>(rows, 1)));
  T* sums = c.workspace<T>(2 * parts * n);
  std::fill_n(sums, 2 * parts * n, T{0});
  const double cost = static_cast<double>(data.size) * 2 * kNsPerElement;
  parallel_for(parts, 1, cost, [&](int64_t begin, int64_t end) {
    Rows<T> dy(head, n, type), x(data, n, type), gamma(c.input(2), n, type), dx(c.output(0), n, type);
    const T* g = gamma.read(0);
    for (int64_t part = begin; part < end; ++part) {
      T *dgamma = sums + 2 * part * n, *dbeta = dgamma + n;
      for (int64_t r = part * rows / parts; r < (part + 1) * rows / parts; ++r) {
        const T* row = x.read(r);
        kernels.gradient(dy.read(r), row, g, dx.target(r), dgamma, dbeta, n, kernels.moments(row, n, eps));
        dx.written(r);
      }
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t j = 0; j < 2 * n; ++j) sums[j] += sums[2 * part * n + j];
  store_function(type, c.output(1).dtype)(sums, c.output(1).data, 1, n);
  store_function(type, c.output(2).dtype)(sums + n, c.output(2).data, 1, n);
}

}  // namespace

void layer_norm_forward(KernelContext& c, double eps) {
  if (c.input(0).dtype == DType::kFloat64) forward<double>(c, eps, ComputeType::kFloat64);
  else forward<float>(c, eps, ComputeType::kFloat32);
}

void layer_norm_backward(KernelContext& c, double eps) {
  if (c.input(1).dtype == DType::kFloat64) backward<double>(c, eps, ComputeType::kFloat64);
  else backward<float>(c, eps, ComputeType::kFloat32);
}

}  // namespace headrace
