#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/layer_norm.cuh"
#include "ops/reduce/layer_norm.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/reduce/layer_norm.cuh";
constexpr int kColumnThreads = 8;  // to a column of the sums over rows
constexpr int64_t kRowsOfPart = 256;
constexpr int64_t kMostParts = 64;

void layer_norm_cuda(KernelContext& c, const AxisSpace& space, double eps) {
  const Tensor& x = c.input(0);
  const int64_t rows = space.outer * space.inner;
  if (rows == 0 || x.size == 0) return;
  const RowWidth width(space.length, space.inner);
  const int pack = width.pack({&x, &c.input(1), &c.input(2), &c.output(0)});
  const bool has_moments = c.output_count() > 1;
  const device::LayerNormArguments arguments{x.data,
                                             c.input(1).data,
                                             c.input(2).data,
                                             c.output(0).data,
                                             has_moments ? c.output(1).data : nullptr,
                                             has_moments ? c.output(2).data : nullptr,
                                             rows,
                                             space.length,
                                             space.inner,
                                             eps};
  launch_cuda(
      {kHeader,
       fmt::format("layer_norm<{}, {}, {}, {}, {}, {}, {}>", compute_name(x.dtype), element_name(x.dtype),
                   element_name(c.input(1).dtype), element_name(c.input(2).dtype), width.threads, width.held(1), pack),
       "LayerNormArguments"},
      width.grid(rows), arguments);
}

void parameter_gradients(KernelContext& c, const void* moments, int64_t rows, int64_t length) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  const char* const compute = compute_name(x.dtype);
  const int64_t wanted = std::clamp<int64_t>(rows / kRowsOfPart, 1, kMostParts);
  const int64_t rows_of_part = std::max<int64_t>(1, (rows + wanted - 1) / wanted);
  const int64_t count = std::max<int64_t>(1, (rows + rows_of_part - 1) / rows_of_part);
  void* const parts = c.workspace(static_cast<size_t>(2 * count * length) * sizeof(double));
  constexpr int64_t kColumns = RowWidth::kBlock / kColumnThreads;
  const device::LayerNormPartArguments partial{dy.data, x.data, moments, parts, rows, length, rows_of_part, count};
  launch_cuda({kHeader,
               fmt::format("layer_norm_parts<{}, {}, {}, {}>", compute, element_name(dy.dtype), element_name(x.dtype),
                           kColumnThreads),
               "LayerNormPartArguments"},
              {blocks_for((length + kColumns - 1) / kColumns * count), RowWidth::kBlock}, partial);
  const device::LayerNormSumArguments sums{parts, c.output(1).data, c.output(2).data, length, count};
  launch_cuda({kHeader, fmt::format("layer_norm_sums<{}, {}>", compute, element_name(c.output(1).dtype)),
               "LayerNormSumArguments"},
              grid_of(length), sums);
}

void layer_norm_gradient_cuda(KernelContext& c, double eps) {
  const Tensor &dy = c.input(0), &x = c.input(1), &gamma = c.input(2);
  const int64_t length = gamma.size, rows = length == 0 ? 0 : x.size / length;
  if (length == 0) return;
  const bool wants_parameters = c.output_count() > 1;
  void* const moments =
      wants_parameters ? c.workspace(static_cast<size_t>(std::max<int64_t>(rows, 1)) * 2 * sizeof(double)) : nullptr;
  if (rows > 0) {
    const RowWidth width(length, 1);
    const device::LayerNormGradientArguments arguments{dy.data, x.data, gamma.data, c.output(0).data,
                                                       moments, rows,   length,     eps};
    launch_cuda({kHeader,
                 fmt::format("layer_norm_gradient<{}, {}, {}, {}, {}, {}, {}>", compute_name(x.dtype),
                             element_name(dy.dtype), element_name(x.dtype), element_name(gamma.dtype), width.threads,
                             width.held(2), width.pack({&dy, &x, &gamma, &c.output(0)})),
                 "LayerNormGradientArguments"},
                width.grid(rows), arguments);
  }
  if (wants_parameters) parameter_gradients(c, moments, rows, length);
}

}  // namespace

void add_layer_norm_cuda(KernelTable& table) {
  table.set_part(layer_norm_forward, layer_norm_cuda);
  table.set_part(layer_norm_backward, layer_norm_gradient_cuda);
  table.set_own_kernels({"LayerNorm", "_backward_LayerNorm"});
}

}  // namespace headrace
