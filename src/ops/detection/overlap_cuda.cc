#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/detection/overlap.cuh"
#include "ops/detection/overlap.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

constexpr const char* kOverlapHeader = "ops/detection/overlap.cuh";

void overlap_boxes_cuda(KernelContext& c, BoxFormat format) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const device::OverlapArguments arguments{c.input(0).data,     c.input(1).data,     to.data,
                                           c.input(0).size / 4, c.input(1).size / 4, format == BoxFormat::kCenter};
  launch_cuda({kOverlapHeader, fmt::format("overlap_boxes<{}, {}>", compute_name(to.dtype), element_name(to.dtype)),
               "OverlapArguments"},
              grid_of(to.size), arguments);
}

void match_scores_cuda(KernelContext& c, const MatchingAttrs& a) {
  const Tensor& scores = c.input(0);
  if (scores.size == 0) {
    for (size_t k : {0, 1}) fill(c, c.output(k), int64_t{-1});
    return;
  }
  const int64_t rows = scores.shape[scores.shape.size() - 2], columns = scores.shape.back(), pairs = rows * columns;
  const int64_t count = scores.size / pairs;
  const Shape shape{count, pairs};
  const Strides strides = contiguous_strides(shape);
  const Tensor order{c.workspace<int64_t>(scores.size), DType::kInt64, shape, strides, scores.size};
  select_first(c, scores, {count, pairs, 1}, pairs, a.is_ascend, nullptr, &order);
  const device::MatchingArguments arguments{.scores = scores.data,
                                            .order = order.as<int64_t>(),
                                            .of_row = c.output(0).data,
                                            .of_column = c.output(1).data,
                                            .count = count,
                                            .rows = rows,
                                            .columns = columns,
                                            .is_ascending = a.is_ascend,
                                            .most = a.topk,
                                            .threshold = a.threshold};
  launch_cuda(
      {kOverlapHeader, fmt::format("match_scores<{}, {}>", compute_name(scores.dtype), element_name(scores.dtype)),
       "MatchingArguments"},
      {blocks_for(count), device::kMatchingThreads}, arguments);
}

}  // namespace

void add_overlap_cuda(KernelTable& table) {
  table.set_part(overlap_boxes, overlap_boxes_cuda);
  table.set_part(match_scores, match_scores_cuda);
  table.set_own_kernels({"_contrib_box_iou", "_contrib_bipartite_matching"});
}

}  // namespace headrace
