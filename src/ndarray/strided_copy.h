// Copies elements between two strided regions of one shape and element type. Regions must not overlap.
// Blocked when the innermost runs of source and destination differ (a transposed copy), and split over idle cores.
#pragma once

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"

namespace headrace {

void strided_copy(void* destination, const Strides& destination_strides, const void* source,
                  const Strides& source_strides, const Shape& shape, DType dtype);

}  // namespace headrace
