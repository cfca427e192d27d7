// One function per instruction, operand form and compute type: what a compiled formula calls on a stretch of memory.
// The tables are made once, for the best instruction set of this machine, and are constant; any thread may use them.
#pragma once

#include <array>
#include <cstdint>

#include "op/formula/opcode.h"

namespace headrace {

// result[i] = op(a[i], b[i], c[i]) for i in [0, n), all in the compute type. `result` may be exactly one of the
// operands, and nothing may overlap otherwise. An operand that the form names scalar is read at index 0 only.
// The bits of result[i] depend on the operands' values alone: not on i, n or alignment.
using Kernel = void (*)(void* result, const void* a, const void* b, const void* c, int64_t n) noexcept;

// Which operands are scalars: bit 0 for a, bit 1 for b, bit 2 for c.
inline constexpr int kFormCount = 8;

class OpcodeKernels {
 public:
  Kernel get(Opcode op, int form) const noexcept { return kernels_[static_cast<size_t>(op)][form]; }
  void set(Opcode op, int form, Kernel kernel) noexcept { kernels_[static_cast<size_t>(op)][form] = kernel; }

 private:
  std::array<std::array<Kernel, kFormCount>, kOpcodeCount> kernels_ = {};
};

// Form 0 exists for every instruction, the others where they pay.
const OpcodeKernels& kernels(ComputeType type);
// The same made anew, for the best of the instruction sets that Highway is now allowed to use (for tests).
OpcodeKernels make_kernels(ComputeType type);

// What the families put into a table, for the types that they serve. Later ones replace what earlier ones put there.
void add_lane_kernels(OpcodeKernels& table, ComputeType type);  // everything
void add_arithmetic_kernels(OpcodeKernels& table, ComputeType type);
void add_comparison_kernels(OpcodeKernels& table, ComputeType type);
void add_integer_kernels(OpcodeKernels& table, ComputeType type);
void add_exponential_kernels(OpcodeKernels& table, ComputeType type);
void add_trigonometric_kernels(OpcodeKernels& table, ComputeType type);
void add_power_kernels(OpcodeKernels& table, ComputeType type);
void add_half_kernels(OpcodeKernels& table, ComputeType type);

}  // namespace headrace
