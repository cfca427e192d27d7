#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/reduce/layer_norm.h"
#include "ops/reduce/layer_norm_rows.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.5;
constexpr int64_t kMostParts = 16;  // partial sums of the parameters' gradients
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
void forward(KernelContext& c, const AxisSpace& space, double eps, ComputeType type) {
  const LayerNormKernels<T>& kernels = layer_norm_kernels(T{});
  const int64_t n = space.length;
  Rows<T> gamma(c.input(1), n, type), beta(c.input(2), n, type);
  const T *g = gamma.read(0), *b = beta.read(0);
  const RowArray in{c.input(0), type, n};
  std::vector<RowArray> out{{c.output(0), type, n}};
  for (size_t k = 1; k < c.output_count(); ++k) out.push_back({c.output(k), type, 1});
  const double cost = static_cast<double>(c.input(0).size) * kNsPerElement;
  for_each_row(space.outer, space.inner, {&in, 1}, out, n, cost, [&](const RowCall& call) {
    const RowMoments moments = kernels.moments(call.in<T>(0), n, eps);
    kernels.normalize(call.in<T>(0), g, b, call.out<T>(), n, moments);
    if (out.size() == 1) return;
    *call.out<T>(1) = static_cast<T>(moments.mean);
    *call.out<T>(2) = static_cast<T>(moments.deviation);
  });
}

// The rows of a backward step that one thread works on.
template <class T>
struct BackwardRows {
  BackwardRows(KernelContext& c, double eps, ComputeType type)
      : n(c.input(2).size),
        eps(eps),
        dy(c.input(0), n, type),
        x(c.input(1), n, type),
        gamma(c.input(2), n, type),
        dx(c.output(0), n, type),
        g(gamma.read(0)) {}

  // Null: the gradients of gamma and beta are not wanted.
  void run(int64_t r, T* dgamma, T* dbeta) {
    const T* row = x.read(r);
    kernels.gradient(dy.read(r), row, g, dx.target(r), dgamma, dbeta, n, kernels.moments(row, n, eps));
    dx.written(r);
  }

  int64_t n;
  double eps;
  Rows<T> dy, x, gamma, dx;
  const T* g;
  const LayerNormKernels<T>& kernels = layer_norm_kernels(T{});
};

template <class T>
void backward_with_parameters(KernelContext& c, int64_t rows, double eps, ComputeType type, double cost) {
  const int64_t n = c.input(2).size, size = c.input(1).size;
  // The number of parts follows from the size alone, so that the sums do not depend on the threads.
  const int64_t parts = std::clamp<int64_t>(size / kPartElements, 1, std::min(kMostParts, std::max<int64_t>(rows, 1)));
  T* sums = c.workspace<T>(2 * parts * n);
  std::fill_n(sums, 2 * parts * n, T{0});
  parallel_for(parts, 1, cost, [&](int64_t begin, int64_t end) {
    BackwardRows<T> backward(c, eps, type);
    for (int64_t part = begin; part < end; ++part) {
      T *dgamma = sums + 2 * part * n, *dbeta = dgamma + n;
      for (int64_t r = part * rows / parts; r < (part + 1) * rows / parts; ++r) backward.run(r, dgamma, dbeta);
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t j = 0; j < 2 * n; ++j) sums[j] += sums[2 * part * n + j];
  store_function(type, c.output(1).dtype)(sums, c.output(1).data, 1, n);
  store_function(type, c.output(2).dtype)(sums + n, c.output(2).data, 1, n);
}

template <class T>
void backward(KernelContext& c, double eps, ComputeType type) {
  const int64_t n = c.input(2).size, size = c.input(1).size, rows = n == 0 ? 0 : size / n;
  const double cost = static_cast<double>(size) * 2 * kNsPerElement;
  if (c.output_count() > 1) return backward_with_parameters<T>(c, rows, eps, type, cost);
  parallel_for(rows, 1, cost, [&](int64_t begin, int64_t end) {
    BackwardRows<T> backward(c, eps, type);
    for (int64_t r = begin; r < end; ++r) backward.run(r, nullptr, nullptr);
  });
}

void forward_on_host(KernelContext& c, const AxisSpace& space, double eps) {
  if (c.input(0).dtype == DType::kFloat64)
    forward<double>(c, space, eps, ComputeType::kFloat64);
  else
    forward<float>(c, space, eps, ComputeType::kFloat32);
}

void backward_on_host(KernelContext& c, double eps) {
  if (c.input(1).dtype == DType::kFloat64)
    backward<double>(c, eps, ComputeType::kFloat64);
  else
    backward<float>(c, eps, ComputeType::kFloat32);
}

}  // namespace

const decltype(layer_norm_forward) layer_norm_forward{"layer_norm", forward_on_host};
const decltype(layer_norm_backward) layer_norm_backward{"layer_norm's gradient", backward_on_host};

}  // namespace headrace
