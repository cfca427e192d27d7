// A part of a csr matrix.
#pragma once

#include "op/sparse_context.h"
#include "ops/shape/slice_range.h"

namespace headrace {

// The rows and columns of input 0 in these ranges, whose steps are 1, as output 0.
void slice_csr(SparseContext& context, const SliceRange& rows, const SliceRange& columns);

}  // namespace headrace
