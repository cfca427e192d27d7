// A reduction between two formulas: elements are computed on their way into it, and its results go on while they are in
// the caches. Any thread.
#pragma once

#include "op/fusion.h"
#include "ops/reduce/reduction.h"

namespace headrace {

// Completes `op`, whose attributes and name are given. Null where the separate operations are faster, or where elements
// are computed in another type than they are reduced in. `reduction` outlives the operator.
std::shared_ptr<const OpDef> fused_reduction(const Reduction& reduction, AxisSet axes, std::optional<double> initial,
                                             const Fusion& fusion, OpDef op);

}  // namespace headrace
