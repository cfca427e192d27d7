// Products of a csr matrix and a dense one.
#pragma once

#include <vector>

#include "op/storage_form.h"

namespace headrace {

// Of dot. csr (m, k) with dense (k, n...) gives dense (m, n...); transposed, (k, m) with (k, n...), row_sparse (m,
// n...), of the rows for which the csr matrix stores something, or dense where that is asked for. Dense (m, k) with csr
// (k, n) gives csr (m, n), or dense, likewise.
std::vector<StorageForm> sparse_dot_forms();

}  // namespace headrace
