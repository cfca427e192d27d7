// An iteration space reduced to what matters: extents of 1 dropped, neighbouring dimensions that every operand walks
// through evenly merged into one.
#pragma once

#include <cstdint>
#include <span>

#include "headrace/shape.hpp"
#include "op/formula/run.h"

namespace headrace {

struct Iteration {
  Shape extents;                     // at least one dimension
  SmallVector<int64_t, 32> strides;  // of operand k along dimension d: [k * extents.size() + d]
  int64_t count = 1;                 // number of elements

  size_t ndim() const noexcept { return extents.size(); }
  int64_t inner() const noexcept { return extents.back(); }
  const int64_t* strides_of(size_t operand) const noexcept { return strides.data() + operand * ndim(); }
};

// `leading` (when not null) is the operand along whose memory to walk: dimensions are reordered so that its strides
// fall. Otherwise the order of the space is kept.
Iteration simplify(const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs,
                   const Operand* leading);

}  // namespace headrace
