// Formulas on NVIDIA's GPUs.
#pragma once

#include "op/kernel.h"
#include "op/kernel_table.h"

namespace headrace {

// What KernelTable::PointwiseKernel says, on the stream of the current work.
void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs);

// copy_elements of op/copy_part.h.
void copy_elements_cuda(KernelContext& context, void* to, const Strides& to_strides, const void* from,
                        const Strides& from_strides, const Shape& shape, DType dtype);

}  // namespace headrace
