#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/reduce/rows.h"
#include "ops/reduce/softmax.h"
#include "ops/reduce/softmax_rows.h"

namespace headrace {
namespace {

constexpr double kNsPerElement = 0.8;

// How many leading elements of each row count.
std::vector<int64_t> row_lengths(const KernelContext& context, size_t input, const AxisSpace& space) {
  if (context.input_count() <= input) return {};
  const Tensor& lengths = context.input(input);
  std::vector<int64_t> result(static_cast<size_t>(lengths.size));
  load_function(lengths.dtype, ComputeType::kInt64)(result.data(), lengths.data, 1, lengths.size);
  for (int64_t& n : result) n = std::clamp<int64_t>(n, 0, space.length);
  return result;
}

template <class T, class F>
void masked(const RowCall& call, const std::vector<int64_t>& lengths, int64_t length, F&& f) {
  const int64_t n = lengths.empty() ? length : lengths[static_cast<size_t>(call.row)];
  if (n > 0) f(n);
  std::fill(call.out<T>() + n, call.out<T>() + length, T{0});
}

// Down the columns of memory that is in the compute type already.
template <class T>
void forward_columns(KernelContext& c, SoftmaxKind kind, const AxisSpace& space, double scale) {
  const SoftmaxKernels<T>& kernels = softmax_kernels(T{});
  const auto run = kind == SoftmaxKind::kSoftmax ? kernels.softmax_columns : kernels.log_softmax_columns;
  const int64_t blocks = (space.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const int64_t grain = std::max<int64_t>(1, 8192 / (space.length * kSoftmaxColumns));
  const double cost = static_cast<double>(c.output(0).size) * kNsPerElement;
  parallel_for(space.outer * blocks, grain, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % blocks * kSoftmaxColumns, first = i / blocks * space.length * space.inner + column;
      run(c.input(0).as<T>() + first, c.output(0).as<T>() + first, space.length, space.inner,
          std::min(kSoftmaxColumns, space.inner - column), scale);
    }
  });
}

template <class T>
void forward(KernelContext& c, SoftmaxKind kind, const AxisSpace& space, double scale, ComputeType type) {
  if (space.length == 0) return;
  const DType native = dtype_of(type);
  if (space.inner > 1 && c.input_count() == 1 && c.input(0).dtype == native && c.output(0).dtype == native)
    return forward_columns<T>(c, kind, space, scale);
  const std::vector<int64_t> lengths = row_lengths(c, 1, space);
  const SoftmaxKernels<T>& kernels = softmax_kernels(T{});
  const auto run = kind == SoftmaxKind::kSoftmax ? kernels.softmax : kernels.log_softmax;
  for_each_row(space, {&c.input(0), 1}, {&c.output(0), 1}, type, static_cast<double>(c.output(0).size) * kNsPerElement,
               [&](const RowCall& call) {
                 masked<T>(call, lengths, space.length,
                           [&](int64_t n) { run(call.in<T>(0), call.out<T>(), n, scale); });
               });
}

template <class T>
void backward(KernelContext& c, SoftmaxKind kind, const AxisSpace& space, double scale, ComputeType type) {
  const std::vector<int64_t> lengths = row_lengths(c, 2, space);
  const SoftmaxKernels<T>& kernels = softmax_kernels(T{});
  const auto run = kind == SoftmaxKind::kSoftmax ? kernels.softmax_gradient : kernels.log_softmax_gradient;
  for_each_row(space, {&c.input(0), 2}, {&c.output(0), 1}, type, static_cast<double>(c.output(0).size) * kNsPerElement,
               [&](const RowCall& call) {
                 masked<T>(call, lengths, space.length,
                           [&](int64_t n) { run(call.in<T>(0), call.in<T>(1), call.out<T>(), n, scale); });
               });
}

ComputeType type_for(const Tensor& a, const Tensor& b) {
  const bool wide = a.dtype == DType::kFloat64 || b.dtype == DType::kFloat64;
  return wide ? ComputeType::kFloat64 : ComputeType::kFloat32;
}

AxisSpace space_of(const KernelContext& c, int64_t axis) {
  const Shape& shape = c.output(0).shape;
  if (shape.empty()) return {1, 1, 1};
  return AxisSpace::along(shape, normalize_axis(axis, static_cast<int64_t>(shape.size()), c.name()));
}

void forward_on_host(KernelContext& c, SoftmaxKind kind, int64_t axis, double scale) {
  const ComputeType type = type_for(c.input(0), c.output(0));
  if (type == ComputeType::kFloat64)
    forward<double>(c, kind, space_of(c, axis), scale, type);
  else
    forward<float>(c, kind, space_of(c, axis), scale, type);
}

void backward_on_host(KernelContext& c, SoftmaxKind kind, int64_t axis, double scale) {
  const ComputeType type = type_for(c.input(0), c.output(0));
  if (type == ComputeType::kFloat64)
    backward<double>(c, kind, space_of(c, axis), scale, type);
  else
    backward<float>(c, kind, space_of(c, axis), scale, type);
}

}  // namespace

const decltype(softmax_forward) softmax_forward{"softmax", forward_on_host};
const decltype(softmax_backward) softmax_backward{"softmax's gradient", backward_on_host};

}  // namespace headrace
