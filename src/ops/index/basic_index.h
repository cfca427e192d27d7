// Basic indexing: integers, slices and new axes, as a view of the same storage.
#pragma once

#include "op/op_def.h"

namespace headrace {

// `key` holds four numbers for each step, outermost first: kind, start, step, count.
//   kind 0: the axis is indexed by the integer `start` and disappears
//   kind 1: `count` elements from `start`, `step` apart
//   kind 2: a new axis of extent 1
// Starts are not negative; all is within bounds. Axes that the key does not mention stay whole.
struct BasicIndexAttrs {
  Shape key;
  Shape shape = {};  // of the array that was indexed; only the gradient uses it
  static constexpr auto kFields = fields(field(&BasicIndexAttrs::key, "key", "Encoded index."),
                                         field(&BasicIndexAttrs::shape, "shape", "Shape of the indexed array."));
};

// What `key` selects of a view, as a view.
Geometry indexed(const Geometry& in, const Shape& key);

}  // namespace headrace
