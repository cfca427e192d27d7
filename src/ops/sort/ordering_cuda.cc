#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/sort/ordering.cuh"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

constexpr unsigned kOrderThreads = 256;                        // as in op/device/group.cuh
constexpr int64_t kOrderSegment = int64_t{2} * kOrderThreads;  // as in ordering.cuh

// The order of the rows of an array, in workspace.
class Order {
 public:
  Order(KernelContext& c, const Tensor& from, const AxisSpace& space, int64_t k, bool ascending, bool one_zero = true) {
    const int64_t rows = space.outer * space.inner;
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(space.length, 2))));
    arguments_ = {.from = from.data,
                  .keys = c.workspace<uint64_t>(rows * padded),
                  .positions = c.workspace<int64_t>(rows * padded),
                  .rows = rows,
                  .length = space.length,
                  .inner = space.inner,
                  .padded = padded,
                  .k = k,
                  .flip = ascending ? 0 : ~uint64_t{0}};
    const int64_t size = rows * padded;
    launch(fmt::format("make_keys<{}, {}>", element_name(from.dtype), one_zero), size);
    launch("order_near<true>", size / 2);
    for (int64_t width = 2 * kOrderSegment; width <= padded; width *= 2) {
      arguments_.width = width;
      for (int64_t stride = width / 2; stride >= kOrderSegment; stride /= 2) {
        arguments_.stride = stride;
        launch("order_far", size / 2);
      }
      launch("order_near<false>", size / 2);
    }
  }

  void write(const std::string& function, const Tensor& to) {
    arguments_.to = to.data;
    launch(function, arguments_.rows * arguments_.k);
  }

 private:
  void launch(std::string function, int64_t threads) {
    launch_cuda({"ops/sort/ordering.cuh", std::move(function), "OrderArguments"},
                {blocks_for((threads + kOrderThreads - 1) / kOrderThreads), kOrderThreads}, arguments_);
  }

  device::OrderArguments arguments_{};
};

std::string take_function(const Tensor& to) { return fmt::format("take_first<uint{}_t>", 8 * item_size(to.dtype)); }

void sort_values_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, bool ascending,
                      const Tensor& output) {
  if (output.size > 0) Order(c, input, space, space.length, ascending, false).write(take_function(output), output);
}

void select_first_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
                       const Tensor* values, const Tensor* positions) {
  if (space.outer * space.inner == 0) return;
  Order order(c, input, space, k, ascending);
  if (values) order.write(take_function(*values), *values);
  if (positions) order.write("place_first<" + element_name(positions->dtype) + ">", *positions);
}

void mark_first_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
                     const Tensor& mask) {
  fill(c, mask, int64_t{0});
  if (mask.size > 0) Order(c, input, space, k, ascending).write("mark_first<" + element_name(mask.dtype) + ">", mask);
}

}  // namespace

void add_ordering_cuda(KernelTable& table) {
  table.set_part(sort_values, sort_values_cuda);
  table.set_part(select_first, select_first_cuda);
  table.set_part(mark_first_of_rows, mark_first_cuda);
  table.set_own_kernels({"sort", "argsort", "topk"});
}

}  // namespace headrace
