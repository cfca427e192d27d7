#include <fmt/format.h>

#include "base/check.h"
#include "op/check_cuda.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/index/indices.cuh"
#include "ops/index/indices.h"
#include "ops/index/selection_cuda.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/index/indices.cuh";

}  // namespace

void raise_outside(KernelContext& c, const Positions& positions, int64_t extent) {
  const bool may_raise =
      extent == 0 || positions.mode == IndexMode::kRaise || positions.mode == IndexMode::kRaiseNegative;
  if (positions.indices.size == 0 || !may_raise) return;
  const KernelGrid grid = check_grid(positions.indices.size);
  auto* const found = c.workspace<device::WrongIndex>(grid.blocks);
  const int64_t least = positions.mode == IndexMode::kRaise ? -extent : 0;
  const device::CheckArguments arguments{positions.indices.data, found, positions.indices.size, least, extent};
  launch_cuda({kHeader, fmt::format("find_outside<{}>", element_name(positions.indices.dtype)), "CheckArguments"}, grid,
              arguments);
  raise_found(found, grid,
              [name = std::string(c.name()), axis = positions.axis, extent](const device::WrongIndex& wrong) {
                fail(ErrorKind::kIndex, "{}: index {} is out of bounds for axis {} with size {}", name, wrong.value,
                     axis, extent);
              });
}

namespace {

// What threads move: elements, or packs of them, of which a slice has `inner`.
struct Moved {
  std::string type;
  int64_t inner;
};

void launch_indexing(KernelContext& c, const char* function, const Moved& moved, const Tensor& from,
                     const Positions& positions, const IndexSpace& space, const Tensor& to) {
  raise_outside(c, positions, space.length);
  if (to.size == 0 || (space.length == 0 && positions.indices.size > 0)) return;
  const device::IndexArguments arguments{from.data,   positions.indices.data, to.data, space.outer, space.length,
                                         moved.inner, positions.indices.size};
  launch_cuda({kHeader,
               fmt::format("{}<{}, {}, static_cast<device::IndexMode>({})>", function, moved.type,
                           element_name(positions.indices.dtype), static_cast<int>(positions.mode)),
               "IndexArguments"},
              grid_of(to.size / space.inner * moved.inner), arguments);
}

void take_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
               const Tensor& to) {
  const auto inner = static_cast<int64_t>(item_size(to.dtype)) * space.inner;  // bytes
  constexpr auto kPack = static_cast<int64_t>(kPackBytes);
  const bool has_packs = inner % kPack == 0 && begins_pack(from.data) && begins_pack(to.data);
  const Moved moved =
      has_packs ? Moved{"device::Pack<uint32_t, 4>", inner / kPack} : Moved{bits_name(to.dtype), space.inner};
  launch_indexing(c, "take_slices", moved, from, positions, space, to);
}

void add_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
              const Tensor& to) {
  fill(c, to, int64_t{0});
  CudaSelection selection(c, positions.indices.size, space.inner, false);
  selection.add_axis(positions, positions.indices.shape, space.length, space.inner);
  selection.set_outer({space.outer}, {space.length * space.inner});
  selection.add(from.data, to);
}

void pick_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
               const Tensor& to) {
  launch_indexing(c, "pick_elements", {bits_name(to.dtype), space.inner}, from, positions, space, to);
}

void put_cuda(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
              const Tensor& to) {
  fill(c, to, int64_t{0});
  launch_indexing(c, "put_elements", {bits_name(to.dtype), space.inner}, from, positions, space, to);
}

void mark_cuda(KernelContext&, const Tensor& indices, double on, double off, const Tensor& to) {
  if (to.size == 0) return;
  const device::MarkArguments arguments{indices.data, to.data, indices.size, to.shape.back(), on, off};
  launch_cuda({kHeader, fmt::format("mark_positions<{}, {}>", element_name(to.dtype), element_name(indices.dtype)),
               "MarkArguments"},
              grid_of(to.size), arguments);
}

}  // namespace

void add_indices_cuda(KernelTable& table) {
  table.set_part(take_slices, take_cuda);
  table.set_part(add_to_slices, add_cuda);
  table.set_part(pick_elements, pick_cuda);
  table.set_part(put_elements, put_cuda);
  table.set_part(mark_positions, mark_cuda);
  table.set_own_kernels({"take", "_backward_take", "Embedding", "pick", "_backward_pick", "one_hot", "_take_along_axis",
                         "_put_along_axis"});
}

}  // namespace headrace
