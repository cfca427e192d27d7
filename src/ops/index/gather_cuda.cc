#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/index/gather.cuh"
#include "ops/index/gather.h"
#include "ops/index/indices_cuda.h"

namespace headrace {
namespace {

constexpr const char* kGatherHeader = "ops/index/gather.cuh";
constexpr unsigned kGatherThreads = 256;

KernelGrid grid_of(int64_t elements) {
  return {blocks_for((elements + kGatherThreads - 1) / kGatherThreads), kGatherThreads};
}

// The runs that places name, whose offsets are computed on the stream. No elements: there is nothing to do.
class Runs {
 public:
  Runs(KernelContext& c, const SelectedPlaces& places) : c_(c), shape_(places.shape) {
    const NamedIndices named(places);
    const Shape& axes = named.axes();
    for (const Tensor& one : named.indices()) index_shape_ = broadcast_shapes(index_shape_, one.shape, c.name());
    check(shape_.size() <= device::kMostAxes && index_shape_.size() <= device::kMostAxes, ErrorKind::kRuntime,
          "{}: arrays and indices may have up to {} axes on GPUs, got {} and {}", c.name(), device::kMostAxes,
          shape_.size(), index_shape_.size());
    arguments_.count = element_count(index_shape_);
    arguments_.index_first = !are_neighbours(axes);
    const Strides strides = contiguous_strides(shape_);
    const auto last = static_cast<size_t>(axes.back());
    arguments_.inner = arguments_.outer = 1;
    for (size_t d = last + 1; d < shape_.size(); ++d) arguments_.inner *= shape_[d];
    for (size_t d = 0; d < last; ++d) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) continue;
      arguments_.shape[arguments_.axes] = shape_[d];
      arguments_.strides[arguments_.axes++] = strides[d];
      arguments_.outer *= shape_[d];
    }
    for (size_t k = 0; k < axes.size(); ++k)
      add_offsets(named.indices()[k], axes[k], strides[static_cast<size_t>(axes[k])], k == 0);
  }

  int64_t size() const noexcept { return is_empty_ ? 0 : arguments_.outer * arguments_.count * arguments_.inner; }

  void mark(bool keeps_last) {
    int64_t* const marked = c_.workspace<int64_t>(arguments_.count);
    arguments_.marked = marked;
    const device::MarkedArguments arguments{arguments_.offsets, marked, arguments_.count, keeps_last};
    launch_cuda({kGatherHeader, "mark_indices", "MarkedArguments"}, grid_of(arguments_.count), arguments);
  }

  void launch(const char* function, const std::string& types, const Tensor& from, const Tensor& to) {
    arguments_.from = from.data;
    arguments_.to = to.data;
    launch_cuda({kGatherHeader, fmt::format("{}<{}>", function, types), "RunArguments"}, grid_of(size()), arguments_);
  }

 private:
  void add_offsets(const Tensor& indices, int64_t axis, int64_t stride, bool is_first) {
    const int64_t extent = shape_[static_cast<size_t>(axis)];
    if (indices.size > 0) raise_outside(c_, {indices, IndexMode::kRaise, axis}, extent);
    is_empty_ = is_empty_ || extent == 0;
    if (is_empty_ || arguments_.count == 0) return;
    if (is_first) offsets_ = c_.workspace<int64_t>(arguments_.count);
    arguments_.offsets = offsets_;
    device::OffsetArguments arguments{indices.data, offsets_, arguments_.count, extent, stride, is_first, 0, {}, {}};
    arguments.axes = static_cast<int64_t>(index_shape_.size());
    const size_t lead = index_shape_.size() - indices.shape.size();
    const Strides packed = contiguous_strides(indices.shape);
    for (size_t d = 0; d < index_shape_.size(); ++d) {
      arguments.shape[d] = index_shape_[d];
      arguments.strides[d] = d < lead || indices.shape[d - lead] == 1 ? 0 : packed[d - lead];
    }
    launch_cuda({kGatherHeader, fmt::format("add_offsets<{}>", element_name(indices.dtype)), "OffsetArguments"},
                grid_of(arguments.count), arguments);
  }

  KernelContext& c_;
  const Shape& shape_;
  Shape index_shape_;
  bool is_empty_ = false;
  int64_t* offsets_ = nullptr;
  device::RunArguments arguments_{};
};

std::string bits_of(DType dtype) { return fmt::format("uint{}_t", 8 * item_size(dtype)); }

std::string sum_of(DType dtype) {
  if (is_floating(dtype)) return dtype == DType::kFloat64 ? "double" : "float";
  return dtype == DType::kBool ? "bool" : "uint64_t";  // integers wrap
}

void gather_cuda(KernelContext& c, const SelectedPlaces& places, const Tensor& from, const Tensor& to) {
  Runs runs(c, places);
  if (runs.size() > 0) runs.launch("gather_runs", bits_of(to.dtype), from, to);
}

void scatter_cuda(KernelContext& c, const SelectedPlaces& places, const Tensor& from, const Tensor& to) {
  Runs runs(c, places);
  if (runs.size() == 0) return;
  runs.mark(true);
  runs.launch("scatter_runs", bits_of(to.dtype), from, to);
}

void add_selected_cuda(KernelContext& c, const SelectedPlaces& places, const Tensor& from, const Tensor& to) {
  Runs runs(c, places);
  if (runs.size() == 0) return;
  runs.mark(false);
  runs.launch("add_runs", element_name(to.dtype) + ", " + sum_of(to.dtype), from, to);
}

}  // namespace

void add_gather_cuda(KernelTable& table) {
  table.set_part(gather_selected, gather_cuda);
  table.set_part(scatter_selected, scatter_cuda);
  table.set_part(add_to_selected, add_selected_cuda);
  table.set_own_kernels({"gather_nd", "scatter_nd", "_backward_gather_nd", "_scatter_set_nd", "_advanced_index",
                         "_advanced_index_add", "_advanced_index_put"});
}

}  // namespace headrace
