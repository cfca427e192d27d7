#include "op/simd/kernels.h"

namespace headrace {
OpcodeKernels make_kernels(ComputeType type) {
  OpcodeKernels table;
  add_lane_kernels(table, type);
  add_arithmetic_kernels(table, type);
  add_comparison_kernels(table, type);
  add_integer_kernels(table, type);
  add_exponential_kernels(table, type);
  add_trigonometric_kernels(table, type);
  add_power_kernels(table, type);
  add_half_kernels(table, type);
  return table;
}

const OpcodeKernels& kernels(ComputeType type) {
  static const std::array<OpcodeKernels, kComputeTypeCount> kTables = {
      make_kernels(ComputeType::kFloat32), make_kernels(ComputeType::kFloat64), make_kernels(ComputeType::kInt32),
      make_kernels(ComputeType::kInt64), make_kernels(ComputeType::kUint64)};
  return kTables[static_cast<size_t>(type)];
}

}  // namespace headrace
