#include "op/formula/iteration.h"

#include <cstdlib>

namespace headrace {
namespace {

using Axes = SmallVector<uint32_t, 8>;

// Stable: equal strides keep the order of the space.
void sort_by_stride(Axes& axes, const int64_t* strides) {
  for (size_t i = 1; i < axes.size(); ++i) {
    for (size_t k = i; k > 0 && std::abs(strides[axes[k - 1]]) < std::abs(strides[axes[k]]); --k)
      std::swap(axes[k - 1], axes[k]);
  }
}

bool walks_evenly(std::span<const Operand> operands, uint32_t outer, uint32_t inner, int64_t inner_extent) {
  for (const Operand& operand : operands) {
    if (operand.strides[outer] != operand.strides[inner] * inner_extent) return false;
  }
  return true;
}

}  // namespace

Iteration simplify(const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs,
                   const Operand* leading) {
  Axes axes;
  Iteration result;
  for (uint32_t d = 0; d < space.size(); ++d) {
    result.count *= space[d];
    if (space[d] != 1) axes.push_back(d);
  }
  if (leading != nullptr) sort_by_stride(axes, leading->strides);
  Axes kept;  // the innermost axis of each merged group
  for (const uint32_t axis : axes) {
    const int64_t extent = space[axis];
    if (!kept.empty() && walks_evenly(inputs, kept.back(), axis, extent) &&
        walks_evenly(outputs, kept.back(), axis, extent)) {
      kept.back() = axis;
      result.extents.back() *= extent;
    } else {
      kept.push_back(axis);
      result.extents.push_back(extent);
    }
  }
  if (kept.empty()) result.extents.push_back(1);
  const auto add = [&](const Operand& operand) {
    for (const uint32_t axis : kept) result.strides.push_back(operand.strides[axis]);
    if (kept.empty()) result.strides.push_back(1);
  };
  for (const Operand& operand : inputs) add(operand);
  for (const Operand& operand : outputs) add(operand);
  return result;
}

}  // namespace headrace
