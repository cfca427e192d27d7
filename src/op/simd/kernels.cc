#include "op/simd/kernels.h"

namespace headrace {
namespace {

KernelTable make_table(ComputeType type) {
  KernelTable table;
  add_lane_kernels(table, type);
  return table;
}

}  // namespace

const KernelTable& kernels(ComputeType type) {
  static const std::array<KernelTable, kComputeTypeCount> kTables = {
      make_table(ComputeType::kFloat32), make_table(ComputeType::kFloat64), make_table(ComputeType::kInt32),
      make_table(ComputeType::kInt64)};
  return kTables[static_cast<size_t>(type)];
}

}  // namespace headrace
