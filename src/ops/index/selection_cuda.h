// Slices of an array at places that index arrays name, on a GPU.
#pragma once

#include "op/launch_cuda.h"
#include "ops/index/indices.h"
#include "ops/index/selection.cuh"

namespace headrace {

// The work fails when the stream has come to it and an index is out of range, where the mode says that this raises.
void raise_outside(KernelContext& c, const Positions& positions, int64_t extent);

// `count` places in each of the blocks of an array around the indexed axes, each the first of `inner` neighbouring
// elements. Lives as long as the launch.
class CudaSelection {
 public:
  // Packed values lie in the order (place, block, inner), or else (block, place, inner).
  CudaSelection(KernelContext& context, int64_t count, int64_t inner, bool index_first);

  // Places count from what the axes together say. The indices are broadcast to `index_shape`, of `count` elements.
  void add_axis(const Positions& positions, const Shape& index_shape, int64_t extent, int64_t stride);
  // Where the blocks begin.
  void set_outer(const Shape& extents, const Strides& strides);

  // to = from[selection]
  void gather(const void* from, const Tensor& to);
  // to[selection] = from; where places coincide the last one stays.
  void scatter(const void* from, const Tensor& to);
  // to[selection] += from, in the order of the indices unless one comes very often; halves in float32.
  void add(const void* from, const Tensor& to);

 private:
  bool has_elements() const;
  void launch(const char* function, const std::string& types, int64_t count, const void* from, void* to);
  void sort();  // the places

  KernelContext& context_;
  device::SelectionArguments arguments_{};
  bool is_first_ = true;   // no axis was added yet
  bool is_empty_ = false;  // an axis without elements was indexed, which raises
};

}  // namespace headrace
