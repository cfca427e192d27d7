#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/communication/two_bit.cuh"
#include "ops/communication/two_bit.h"

namespace headrace {
namespace {

void launch_two_bits(const char* function, int64_t elements, const device::TwoBitArguments& arguments) {
  launch_cuda({"ops/communication/two_bit.cuh", function, "TwoBitArguments"}, grid_of(elements), arguments);
}

void pack_two_bits_cuda(KernelContext& c, float threshold) {
  const Tensor& packed = c.output(0);
  if (packed.size == 0) return;
  launch_two_bits(
      "pack_two_bits", packed.size,
      {c.input(0).as<float>(), c.input(1).as<float>(), packed.as<uint8_t>(), c.input(0).size, packed.size, threshold});
}

void unpack_two_bits_cuda(KernelContext& c, float threshold) {
  const Tensor& gradient = c.output(0);
  if (gradient.size == 0) return;
  launch_two_bits("unpack_two_bits", gradient.size,
                  {nullptr, gradient.as<float>(), c.input(0).as<uint8_t>(), gradient.size, c.input(0).size, threshold});
}

}  // namespace

void add_two_bit_cuda(KernelTable& table) {
  table.set_part(pack_two_bits, pack_two_bits_cuda);
  table.set_part(unpack_two_bits, unpack_two_bits_cuda);
  table.set_own_kernels({"_two_bit_quantize", "_two_bit_dequantize"});
}

}  // namespace headrace
