// What `std::cout << x` writes of arrays, shapes, devices and dtypes.
//
//   [[1. 2.]
//    [3. 4.]]
//   <NDArray 2x2 @cpu(0)>
#pragma once

#include <iosfwd>

#include "headrace/ndarray.hpp"

namespace headrace {

// Waits for the array and raises the error of what made it. Of more than 1000 elements the first and last three along
// each axis are written; of sparse arrays only the last line, which says how they are stored. RuntimeError: the array
// belongs to a graph that is being traced, and has no values.
std::ostream& operator<<(std::ostream& out, const NDArray& array);

std::ostream& operator<<(std::ostream& out, const Shape& shape);    // (2, 3)
std::ostream& operator<<(std::ostream& out, const Device& device);  // cpu(0)
std::ostream& operator<<(std::ostream& out, DType dtype);           // float32

}  // namespace headrace
