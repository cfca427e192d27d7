// What reductions along the rows of a row_sparse array and their gradients are made of.
#pragma once

#include <vector>

#include "op/storage_form.h"

namespace headrace {

// Of a reduction with LegacyReduceAttrs of zeros to zero, along other axes than the first: of the stored rows alone.
std::vector<StorageForm> reduced_row_forms();

}  // namespace headrace
