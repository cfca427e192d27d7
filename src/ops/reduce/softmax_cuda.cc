#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/row_width_cuda.h"
#include "ops/reduce/rows.h"
#include "ops/reduce/softmax.cuh"
#include "ops/reduce/softmax.h"

namespace headrace {
namespace {

AxisSpace space_of(const KernelContext& c, int64_t axis) {
  const Shape& shape = c.output(0).shape;
  if (shape.empty()) return {1, 1, 1};
  return AxisSpace::along(shape, normalize_axis(axis, static_cast<int64_t>(shape.size()), c.name()));
}

const char* compute_for(const Tensor& a, const Tensor& b) {
  return compute_name(a.dtype == DType::kFloat64 ? a.dtype : b.dtype);
}

// `arrays`: those before `lengths`.
void launch_softmax(KernelContext& c, const char* function, size_t arrays, SoftmaxKind kind, int64_t axis,
                    double scale) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const AxisSpace space = space_of(c, axis);
  const RowWidth width(space.length, space.inner);
  const bool has_lengths = c.input_count() > arrays;
  const device::SoftmaxArguments arguments{c.input(0).data,
                                           arrays > 1 ? c.input(1).data : nullptr,
                                           has_lengths ? c.input(arrays).data : nullptr,
                                           to.data,
                                           space.outer * space.inner,
                                           space.length,
                                           space.inner,
                                           scale};
  std::string types = compute_for(c.input(0), to);
  for (size_t i = 0; i < arrays; ++i) types += ", " + element_name(c.input(i).dtype);
  types += ", " + element_name(to.dtype);
  types += ", " + element_name(has_lengths ? c.input(arrays).dtype : DType::kInt64);
  const int pack = has_lengths ? 1 : width.pack({&c.input(0), &c.input(arrays - 1), &to});
  launch_cuda({"ops/reduce/softmax.cuh",
               fmt::format("{}<{}, {}, {}, {}, {}>", function, types, kind == SoftmaxKind::kLogSoftmax, width.threads,
                           width.held(arrays), pack),
               "SoftmaxArguments"},
              width.grid(arguments.rows), arguments);
}

void softmax_cuda(KernelContext& c, SoftmaxKind kind, int64_t axis, double scale) {
  launch_softmax(c, "softmax", 1, kind, axis, scale);
}

void softmax_gradient_cuda(KernelContext& c, SoftmaxKind kind, int64_t axis, double scale) {
  launch_softmax(c, "softmax_gradient", 2, kind, axis, scale);
}

}  // namespace

void add_softmax_cuda(KernelTable& table) {
  table.set_part(softmax_forward, softmax_cuda);
  table.set_part(softmax_backward, softmax_gradient_cuda);
  table.set_own_kernels({"softmax", "log_softmax", "softmin", "_backward_softmax", "_backward_log_softmax"});
}

}  // namespace headrace
