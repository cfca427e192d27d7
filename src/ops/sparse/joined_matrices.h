// Csr matrices below each other.
#pragma once

#include "op/sparse_context.h"

namespace headrace {

// The rows of all inputs, one after another, as output 0.
void join_csr_rows(SparseContext& context);

}  // namespace headrace
