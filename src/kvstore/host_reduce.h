// Reducing arrays in host memory, where devices share it: one task that reads every value once and writes every result
// once. Any thread.
#pragma once

#include <span>

#include "headrace/communicator.hpp"

namespace headrace::kvstore {

// Writes the reduction of `values` into each of `results`, which may be the values themselves, and into `kept`, if
// there is one: a packed array that is not expected to be read soon, and goes past the caches if it is large. `extent`:
// of the call that this belongs to. All have one shape and one dtype. The values are combined in their order, so the
// bits are the same every time. Not for functions.
void reduce_on_host(const Reduction& reduction, std::span<const NDArray> values, std::span<const NDArray> results,
                    const NDArray& kept, Extent extent);

}  // namespace headrace::kvstore
