// Formulas as a part of kernels.
#pragma once

#include <span>

#include "op/formula/run.h"
#include "op/kernel_part.h"
#include "op/pointwise.h"

namespace headrace {

// Computes the outputs of a formula without parameters over `space`, see run() of op/formula/run.h. The formula lives
// as long as the process.
extern const KernelPartOf<void(KernelContext& context, const Pointwise& formula, ComputeType compute,
                               const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs)>
    compute_formula;

}  // namespace headrace
