// Reading values in a thread that holds no access to the array. Any thread.
#pragma once

#include "headrace/ndarray.hpp"

namespace headrace {

// An array on the host with the geometry and the values of `array` at this point of the program, which stay while it is
// read, whatever other threads write: the array itself when its memory stays in its place; one that shares its memory
// until it is written; or of an accelerator a copy of what lies between the first and the last element. To be waited
// for. ValuesUnknown: the array is abstract.
NDArray snapshot(const NDArray& array);

// Of a snapshot that has been waited for: all values, packed, and that of one with a single element.
void copy_values(const NDArray& snapshot, void* destination);
double only_value(const NDArray& snapshot);

}  // namespace headrace
