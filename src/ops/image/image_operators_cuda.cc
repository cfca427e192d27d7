#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/image/image_operators.cuh"
#include "ops/image/image_operators.h"

namespace headrace {
namespace {

void divide_bytes_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const size_t axis = from.shape.size() - 3;
  const device::ImageByteArguments arguments{from.as<const uint8_t>(), to.as<float>(), to.size,
                                             from.shape[axis] * from.shape[axis + 1], from.shape[axis + 2]};
  launch_cuda({"ops/image/image_operators.cuh", "divide_bytes", "ImageByteArguments"}, grid_of(to.size), arguments);
}

}  // namespace

void add_image_operators_cuda(KernelTable& table) {
  table.set_part(divide_bytes, divide_bytes_cuda);
  table.set_own_kernels({"_image_bytes_to_tensor"});
}

}  // namespace headrace
