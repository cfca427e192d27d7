// Formulas on NVIDIA's GPUs.
#pragma once

#include "op/formula/run.h"
#include "op/kernel.h"
#include "op/kernel_table.h"
#include "op/pointwise.h"

namespace headrace {

// What KernelTable::PointwiseKernel says, on the stream of the current work.
void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs);

// compute_formula of op/formula_part.h.
void compute_formula_cuda(KernelContext& context, const Pointwise& formula, ComputeType compute, const Shape& space,
                          std::span<const Operand> inputs, std::span<const Operand> outputs);

// copy_elements of op/copy_part.h.
void copy_elements_cuda(KernelContext& context, void* to, const Strides& to_strides, const void* from,
                        const Strides& from_strides, const Shape& shape, DType dtype);

}  // namespace headrace
