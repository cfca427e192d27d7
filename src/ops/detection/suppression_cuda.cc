#include <fmt/format.h>

#include <algorithm>

#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/detection/suppression.cuh"
#include "ops/detection/suppression.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

constexpr const char* kSuppressionHeader = "ops/detection/suppression.cuh";

// topk=0: nothing is done.
void keep_all(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  const Strides packed = contiguous_strides(to.shape);
  copy_elements(c, to.data, packed, from.data, packed, to.shape, to.dtype);
  fill_progression(c, c.output(1), {int64_t{0}, int64_t{1}, 1});
}

void suppress_boxes_cuda(KernelContext& c, const NmsAttrs& a) {
  const Tensor &from = c.input(0), &record = c.output(1);
  if (from.size == 0) return;
  if (a.topk == 0) return keep_all(c);
  const DType real = from.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const int64_t width = from.shape.back(), count = from.shape[from.shape.size() - 2], images = record.size / count;
  const int64_t most = a.topk < 0 ? count : std::min(a.topk, count);
  const Shape shape{images, count};
  const Strides strides = contiguous_strides(shape);
  const Tensor scores{c.workspace(static_cast<size_t>(record.size) * item_size(real)), real, shape, strides,
                      record.size};
  const Tensor order{c.workspace<int64_t>(record.size), DType::kInt64, shape, strides, record.size};
  const device::SuppressionArguments arguments{
      .from = from.data,
      .to = c.output(0).data,
      .record = record.as<int64_t>(),
      .scores = scores.data,
      .order = order.as<int64_t>(),
      .gone = c.workspace<uint8_t>(record.size),
      .images = images,
      .count = count,
      .width = width,
      .most = most,
      .coord_start = a.coord_start,
      .score_index = a.score_index,
      .id_index = a.id_index,
      .background_id = a.background_id,
      .class_index = a.force_suppress ? -1 : a.id_index,
      .from_center = a.in_format == "center",
      .converts = a.in_format != a.out_format,
      .overlap_thresh = a.overlap_thresh,
      .valid_thresh = a.valid_thresh,
  };
  const auto launch = [&](const char* function, KernelGrid grid) {
    launch_cuda({kSuppressionHeader, fmt::format("{}<{}, {}>", function, element_name(real), element_name(from.dtype)),
                 "SuppressionArguments"},
                grid, arguments);
  };
  launch("score_boxes", grid_of(record.size));
  select_first(c, scores, {images, count, 1}, count, false, nullptr, &order);
  launch("suppress_boxes", {blocks_for(images), device::kSuppressionThreads});
}

void put_rows_back_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  fill(c, to, int64_t{0});
  if (from.size == 0) return;
  const int64_t rows = c.input(1).size;
  const Shape shape{rows};
  const Strides strides{1};
  const auto integers = [&](void* data) { return Tensor{data, DType::kInt64, shape, strides, rows}; };
  const Tensor places = integers(c.workspace<int64_t>(rows)), order = integers(c.workspace<int64_t>(rows));
  select_first(c, integers(c.input(1).data), {1, rows, 1}, rows, true, &places, &order);
  const device::PutBackArguments arguments{from.data, places.as<int64_t>(), order.as<int64_t>(), to.data,
                                           rows,      from.shape.back()};
  launch_cuda({kSuppressionHeader, fmt::format("put_rows_back<{}>", bits_name(to.dtype)), "PutBackArguments"},
              grid_of(from.size), arguments);
}

}  // namespace

void add_suppression_cuda(KernelTable& table) {
  table.set_part(suppress_boxes, suppress_boxes_cuda);
  table.set_part(put_rows_back, put_rows_back_cuda);
  table.set_own_kernels({"_contrib_box_nms", "_backward_contrib_box_nms"});
}

}  // namespace headrace
