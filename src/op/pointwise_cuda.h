// Formulas on NVIDIA's GPUs.
#pragma once

#include "op/kernel.h"
#include "op/kernel_table.h"

namespace headrace {

// What KernelTable::PointwiseKernel says, on the stream of the current work.
void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs);

// Makes the output a row-major copy of the input, of the same shape and dtype and any strides.
void launch_contiguous_cuda(KernelContext& context, const Attrs& attrs);

}  // namespace headrace
