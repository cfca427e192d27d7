// Rows taken from sparse arrays, and gradients that are the rows which were taken.
#pragma once

#include <vector>

#include "op/storage_form.h"

namespace headrace {

std::vector<StorageForm> sparse_take_forms();       // rows of a csr matrix
std::vector<StorageForm> sparse_embedding_forms();  // rows of a row_sparse table
std::vector<StorageForm> sparse_take_back_forms();  // a row_sparse gradient

}  // namespace headrace
