#include "op/formula_part.h"

namespace headrace {

const decltype(compute_formula) compute_formula{
    "compute_formula", [](KernelContext&, const Pointwise& formula, ComputeType compute, const Shape& space,
                          std::span<const Operand> inputs, std::span<const Operand> outputs) {
      run(formula.program(compute), space, inputs, outputs, {});
    }};

}  // namespace headrace
