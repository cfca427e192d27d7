// Formulas on what sparse arrays store: they give zero where nothing is stored.
#pragma once

#include <span>

#include "op/op_def.h"
#include "op/sparse_context.h"

namespace headrace {

// Whether the formula gives zero wherever the sparse inputs are zero, whatever the dense ones hold.
bool keeps_zero(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs);
// Computes an output of the kind of the sparse inputs; all inputs are of that kind or dense, and of one shape, to which
// dense ones beside csr broadcast.
void run_pointwise_sparse(SparseContext& context, const Attrs& attrs);

}  // namespace headrace
