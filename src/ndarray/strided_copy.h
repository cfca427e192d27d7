// Copies elements between two strided regions of one shape and element type. Regions must not overlap.
// Blocked when the innermost runs of source and destination differ (a transposed copy), and split over idle cores.
#pragma once

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"
#include "ndarray/view.h"

namespace headrace {

void strided_copy(void* destination, const Strides& destination_strides, const void* source,
                  const Strides& source_strides, const Shape& shape, DType dtype);

// In a task that reads the view, which is on the host: the view itself, or a packed copy. None of none.
ViewPtr packed(const ViewPtr& view);

}  // namespace headrace
