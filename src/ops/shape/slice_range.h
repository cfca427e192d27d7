// Python's slice rules on one axis.
#pragma once

#include <optional>

#include "headrace/shape.hpp"

namespace headrace {

struct SliceRange {
  int64_t begin, step, count;
};

// begin:end:step on an axis of `extent`; missing and negative entries and entries past the edge as in Python.
// Raises ValueError for step 0.
SliceRange slice_range(std::optional<int64_t> begin, std::optional<int64_t> end, std::optional<int64_t> step,
                       int64_t extent, const char* operation);

}  // namespace headrace
