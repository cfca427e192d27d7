// Sums and reductions of what sparse arrays store.
#pragma once

#include <vector>

#include "op/storage_form.h"

namespace headrace {

// Of a reduction with LegacyReduceAttrs of zeros to zero, along other axes than the first: of the stored rows alone.
std::vector<StorageForm> reduced_row_forms();
// Of the sum of a csr matrix, with LegacyReduceAttrs, along one of its axes.
std::vector<StorageForm> summed_matrix_forms();
// Of the sum of any number of row_sparse arrays.
std::vector<StorageForm> added_row_forms();
// The operator, a reduction of zeros to zero over all axes, on the stored rows.
void reduce_all_rows(SparseContext& c, const Attrs& attrs);

}  // namespace headrace
