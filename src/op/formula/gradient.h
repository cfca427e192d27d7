// Derivatives of formulas, as formulas.
#pragma once

#include "op/formula/expr.h"

namespace headrace {

// The gradient of `formula` with respect to one of its inputs. Its inputs are those of `formula`, then one head
// gradient per output; its one output is the sum over outputs o of dy_o * d out_o / d input. Conventions are MXNet's:
// abs'(0) = 0; comparisons, sign and rounding have none; of two equal arguments of min or max the first takes it all,
// but an argument compared with a constant or parameter passes it on at equality.
// Raises Error(kNotImplemented) where the set of instructions has no derivative (trigamma), Error(kValue) when there is
// no such input.
Formula gradient(const Formula& formula, int input);

}  // namespace headrace
