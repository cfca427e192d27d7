// Rows of what is stored.
#pragma once

#include "headrace/ndarray.hpp"

namespace headrace::kvstore {

// The rows of an array whose numbers `ids` has, in any order and number, as a row_sparse array in host memory. Of a
// row_sparse one those that it has.
NDArray rows_of(const NDArray& array, const NDArray& ids);

}  // namespace headrace::kvstore
