// Issuing operations on arrays that are not all dense, or whose results are not.
#pragma once

#include <span>

#include "op/node.h"
#include "op/op_def.h"

namespace headrace {

// Issues the call by one of the operator's forms, or by its formula on what is stored; otherwise, when an array is
// sparse, on dense copies. False, and nothing is done: all is dense and stays so.
bool invoke_stored(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs);

// Whether a call that changes its first input in place writes to this input.
inline bool is_written(const OpDef& op, size_t input) { return input == 0 || op.mutates_input(input); }

// The array itself, or a dense one with its elements.
NDArray dense(const NDArray& array);
// An array of the kind with the same elements; the array itself where it is of the kind.
NDArray cast_storage(const NDArray& array, StorageKind kind);

// copy_into() where one of the two is sparse.
void copy_stored(const NDArray& destination, const NDArray& source);

}  // namespace headrace
