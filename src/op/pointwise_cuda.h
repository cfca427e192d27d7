// Formulas on NVIDIA's GPUs.
#pragma once

#include "op/kernel.h"
#include "op/kernel_table.h"

namespace headrace {

// What KernelTable::PointwiseKernel says, on the stream of the current work.
void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs);

// Gives a packed output the elements of the input, in row-major order. The input may have any strides; the shapes may
// differ.
void launch_packed_copy_cuda(KernelContext& context, const Attrs& attrs);

}  // namespace headrace
