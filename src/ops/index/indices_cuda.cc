#include <fmt/format.h>

#include <memory>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/index/indices.cuh"
#include "ops/index/indices.h"
#include "ops/index/indices_cuda.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/index/indices.cuh";
constexpr unsigned kThreads = 256;  // find_outside works with blocks of so many

KernelGrid grid_for(int64_t elements) { return {blocks_for((elements + kThreads - 1) / kThreads), kThreads}; }

// Of elements that are only moved: unsigned integers of their size.
std::string bits_name(DType dtype) { return fmt::format("uint{}_t", 8 * item_size(dtype)); }

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

// What is copied to the host of an index that is out of range.
struct Outside {
  Outside() : found(static_cast<int64_t*>(pinned_memory().allocate(kBytes))) {}
  ~Outside() { pinned_memory().release(found, kBytes); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

  static constexpr size_t kBytes = 2 * sizeof(int64_t);
  int64_t* const found;
};

// `moves`: elements are copied, whatever they are.
void launch_indexing(KernelContext& c, const char* function, bool moves, const Tensor& from, const Positions& positions,
                     const IndexSpace& space, const Tensor& to) {
  if (positions.indices.size > 0 &&
      (positions.mode == IndexMode::kRaise || space.length == 0 || positions.mode == IndexMode::kRaiseNegative))
    raise_outside(c, positions, space.length);
  if (to.size == 0 || (space.length == 0 && positions.indices.size > 0)) return;
  const device::IndexArguments arguments{from.data,   positions.indices.data, to.data, space.outer, space.length,
                                         space.inner, positions.indices.size};
  const std::string types =
      moves ? bits_name(to.dtype) : fmt::format("{}, {}", element_name(to.dtype), sum_name(to.dtype));
  launch_cuda({kHeader,
               fmt::format("{}<{}, {}, static_cast<device::IndexMode>({})>", function, types,
                           element_name(positions.indices.dtype), static_cast<int>(positions.mode)),
               "IndexArguments"},
              grid_for(to.size), arguments);
}

void take_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
               const Tensor& to) {
  launch_indexing(c, "take_slices", true, from, positions, space, to);
}

void add_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
              const Tensor& to) {
  launch_indexing(c, "add_to_slices", false, from, positions, space, to);
}

void pick_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
               const Tensor& to) {
  launch_indexing(c, "pick_elements", true, from, positions, space, to);
}

void put_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
              const Tensor& to) {
  launch_indexing(c, "put_elements", true, from, positions, space, to);
}

void move_along_cuda(KernelContext& c, bool takes, const Tensor& from, const Positions& positions,
                     const IndexSpace& space, const Tensor& to) {
  const Tensor& indices = positions.indices;
  if (indices.size == 0) return;
  raise_outside(c, positions, space.length);
  if (space.length == 0) return;
  const device::IndexArguments arguments{from.data,    indices.data, to.data,     space.outer,
                                         space.length, space.inner,  indices.size};
  launch_cuda({kHeader, fmt::format("move_along<{}, {}, {}>", bits_name(to.dtype), element_name(indices.dtype), takes),
               "IndexArguments"},
              grid_for(indices.size), arguments);
}

void take_along_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                     const Tensor& to) {
  move_along_cuda(c, true, from, positions, space, to);
}

void put_along_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                    const Tensor& to) {
  fill(c, to, int64_t{0});
  move_along_cuda(c, false, from, positions, space, to);
}

void mark_cuda(KernelContext&, const Tensor& indices, double on, double off, const Tensor& to) {
  if (to.size == 0) return;
  const device::MarkArguments arguments{indices.data, to.data, indices.size, to.shape.back(), on, off};
  launch_cuda({kHeader, fmt::format("mark_positions<{}, {}>", element_name(to.dtype), element_name(indices.dtype)),
               "MarkArguments"},
              grid_for(to.size), arguments);
}

}  // namespace

void raise_outside(KernelContext& c, const Positions& positions, int64_t extent) {
  const auto outside = std::make_shared<const Outside>();
  current_work()->hold(outside);
  void* const there = c.workspace(Outside::kBytes);
  const int64_t least = positions.mode == IndexMode::kRaise ? -extent : 0;
  const device::CheckArguments arguments{positions.indices.data, static_cast<int64_t*>(there), positions.indices.size,
                                         least, extent};
  launch_cuda({kHeader, fmt::format("find_outside<{}>", element_name(positions.indices.dtype)), "CheckArguments"},
              {1, kThreads}, arguments);
  const Device gpu = current_device();
  current_cuda_stream().copy({{DeviceType::kCpuPinned, 0}, outside->found}, {gpu, there}, Outside::kBytes);
  run_on_device({}, [outside, name = std::string(c.name()), axis = positions.axis, extent] {
    check(outside->found[0] < 0, ErrorKind::kIndex, "{}: index {} is out of bounds for axis {} with size {}", name,
          outside->found[1], axis, extent);
  });
}

void add_indices_cuda(KernelTable& table) {
  table.set_part(take_slices, take_cuda);
  table.set_part(add_to_slices, add_cuda);
  table.set_part(pick_elements, pick_cuda);
  table.set_part(put_elements, put_cuda);
  table.set_part(mark_positions, mark_cuda);
  table.set_part(take_along, take_along_cuda);
  table.set_part(put_along, put_along_cuda);
  table.set_own_kernels({"take", "_backward_take", "Embedding", "pick", "_backward_pick", "one_hot", "_take_along_axis",
                         "_put_along_axis"});
}

}  // namespace headrace
