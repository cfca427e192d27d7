#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/index/indices.h"
#include "ops/index/places.cuh"

namespace headrace {
namespace {

void launch_places(KernelContext& c, const char* function, const Shape& shape, int64_t count) {
  if (c.output(0).size == 0) return;
  device::FlatPlaceArguments arguments{
      c.input(0).data, c.output(0).data, count, static_cast<int64_t>(shape.size()), {}};
  check(arguments.dims <= device::FlatPlaceArguments::kMostDims, ErrorKind::kValue,
        "{}: a shape of {} dimensions has too many", c.name(), shape.size());
  std::ranges::copy(shape, arguments.extents);
  launch_cuda(
      {"ops/index/places.cuh", fmt::format("{}<{}>", function, element_name(c.output(0).dtype)), "FlatPlaceArguments"},
      grid_of(count), arguments);
}

void ravel_places_cuda(KernelContext& c, const Shape& shape) {
  launch_places(c, "ravel_places", shape, c.output(0).size);
}

void unravel_places_cuda(KernelContext& c, const Shape& shape) {
  launch_places(c, "unravel_places", shape, c.input(0).size);
}

}  // namespace

void add_places_cuda(KernelTable& table) {
  table.set_part(ravel_places, ravel_places_cuda);
  table.set_part(unravel_places, unravel_places_cuda);
  table.set_own_kernels({"_ravel_multi_index", "_unravel_index"});
}

}  // namespace headrace
