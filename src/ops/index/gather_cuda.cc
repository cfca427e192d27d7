#include <fmt/format.h>

#include "base/check.h"
#include "op/kernel_table.h"
#include "ops/index/gather.h"
#include "ops/index/selection_cuda.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

constexpr const char* kSelectionHeader = "ops/index/selection.cuh";

device::Walk walk_through(const char* name, const Shape& extents, const Strides& strides) {
  device::Walk walk{.dims = 0, .extents = {}, .strides = {}};
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    const bool is_even = walk.dims > 0 && walk.strides[walk.dims - 1] == strides[d] * extents[d];
    if (!is_even) {
      check(walk.dims < device::Walk::kMostDims, ErrorKind::kValue, "{}: an array of {} dimensions has too many", name,
            extents.size());
      walk.extents[walk.dims++] = 1;
    }
    walk.extents[walk.dims - 1] *= extents[d];
    walk.strides[walk.dims - 1] = strides[d];
  }
  if (walk.dims == 0) walk.extents[walk.dims++] = 1;
  return walk;
}

const char* sum_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "double";
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBfloat16:
      return "float";
    case DType::kBool:
      return "bool";
    default:
      return "uint64_t";  // integers wrap
  }
}

CudaSelection selection_of(KernelContext& c, const Selected& selected) {
  const auto& [shape, axes, indices] = selected;
  const Shape index_shape = broadcast_index_shape(c.name(), indices);
  const Strides strides = contiguous_strides(shape);
  const auto last = static_cast<size_t>(axes.back());
  int64_t inner = 1;
  for (size_t d = last + 1; d < shape.size(); ++d) inner *= shape[d];
  CudaSelection selection(c, element_count(index_shape), inner, !are_neighbours(axes));
  Shape outer;
  Strides outer_strides;
  for (size_t d = 0, k = 0; d <= last; ++d) {
    if (static_cast<int64_t>(d) == axes[k]) {
      selection.add_axis({indices[k], IndexMode::kRaise, axes[k]}, index_shape, shape[d], strides[d]);
      ++k;
    } else {
      outer.push_back(shape[d]);
      outer_strides.push_back(strides[d]);
    }
  }
  selection.set_outer(outer, outer_strides);
  return selection;
}

void gather_cuda(KernelContext& c, const Selected& selected, const Tensor& data, const Tensor& result) {
  selection_of(c, selected).gather(data.data, result);
}

void scatter_cuda(KernelContext& c, const Selected& selected, const void* values, const Tensor& data) {
  selection_of(c, selected).scatter(values, data);
}

void scatter_add_cuda(KernelContext& c, const Selected& selected, const Tensor& values, const Tensor& data) {
  selection_of(c, selected).add(values.data, data);
}

}  // namespace

CudaSelection::CudaSelection(KernelContext& context, int64_t count, int64_t inner, bool index_first)
    : context_(context) {
  arguments_.count = count;
  arguments_.inner = inner;
  arguments_.index_first = index_first;
  if (count > 0) arguments_.places = context.workspace<int64_t>(count);
}

void CudaSelection::add_axis(const Positions& positions, const Shape& index_shape, int64_t extent, int64_t stride) {
  if (arguments_.count == 0) return;
  raise_outside(context_, positions, extent);
  is_empty_ |= extent == 0;
  if (is_empty_) return;
  const Tensor& indices = positions.indices;
  const Strides packed = contiguous_strides(indices.shape);
  Strides strides(index_shape.size(), 0);
  const size_t lead = index_shape.size() - indices.shape.size();
  for (size_t d = 0; d < indices.shape.size(); ++d) strides[lead + d] = indices.shape[d] == 1 ? 0 : packed[d];
  const device::PlaceArguments arguments{indices.data,
                                         arguments_.places,
                                         arguments_.count,
                                         extent,
                                         stride,
                                         is_first_,
                                         walk_through(context_.name(), index_shape, strides)};
  launch_cuda({kSelectionHeader,
               fmt::format("add_places<{}, static_cast<device::IndexMode>({})>", element_name(indices.dtype),
                           static_cast<int>(positions.mode)),
               "PlaceArguments"},
              grid_of(arguments_.count), arguments);
  is_first_ = false;
}

void CudaSelection::set_outer(const Shape& extents, const Strides& strides) {
  arguments_.blocks = element_count(extents);
  arguments_.walk = walk_through(context_.name(), extents, strides);
}

void CudaSelection::launch(const char* function, const std::string& types, int64_t count, const void* from, void* to) {
  arguments_.from = from;
  arguments_.to = to;
  launch_cuda({kSelectionHeader, fmt::format("{}<{}>", function, types), "SelectionArguments"},
              grid_of(arguments_.blocks * count * arguments_.inner), arguments_);
}

bool CudaSelection::has_elements() const {
  return !is_empty_ && arguments_.blocks * arguments_.count * arguments_.inner > 0;
}

void CudaSelection::sort() {
  const Shape shape{arguments_.count};
  const Strides strides{1};
  const Tensor places{arguments_.places, DType::kInt64, shape, strides, arguments_.count};
  const Tensor sorted{context_.workspace<int64_t>(arguments_.count), DType::kInt64, shape, strides, arguments_.count};
  const Tensor order{context_.workspace<int64_t>(arguments_.count), DType::kInt64, shape, strides, arguments_.count};
  select_first(context_, places, {1, arguments_.count, 1}, arguments_.count, true, &sorted, &order);
  arguments_.places = sorted.as<int64_t>();
  arguments_.order = order.as<int64_t>();
}

void CudaSelection::gather(const void* from, const Tensor& to) {
  if (has_elements()) launch("gather_selected", bits_name(to.dtype), arguments_.count, from, to.data);
}

void CudaSelection::scatter(const void* from, const Tensor& to) {
  if (!has_elements()) return;
  sort();
  launch("scatter_selected", bits_name(to.dtype), arguments_.count, from, to.data);
}

void CudaSelection::add(const void* from, const Tensor& to) {
  if (!has_elements()) return;
  sort();
  const std::string types = fmt::format("{}, {}", element_name(to.dtype), sum_name(to.dtype));
  if (const int64_t pieces = arguments_.count / device::kPiece; pieces > 0) {
    arguments_.pieces = context_.workspace<double>(arguments_.blocks * pieces * arguments_.inner);
    launch("add_pieces", types, pieces, from, to.data);
  }
  launch("add_selected", types, arguments_.count, from, to.data);
}

void add_gather_cuda(KernelTable& table) {
  table.set_part(gather, gather_cuda);
  table.set_part(scatter, scatter_cuda);
  table.set_part(scatter_add, scatter_add_cuda);
  table.set_own_kernels({"gather_nd", "scatter_nd", "_backward_gather_nd", "_scatter_set_nd", "_advanced_index",
                         "_advanced_index_add", "_advanced_index_put", "_contrib_index_copy"});
}

}  // namespace headrace
