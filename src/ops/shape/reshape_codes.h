// MXNet's shape codes. Each function gives the plain shape that codes mean for an input shape and raises, naming the
// operation, when they do not fit it. Extents of the input that are not known (-1) leave others of the result unknown.
#pragma once

#include <vector>

#include "headrace/shape.hpp"

namespace headrace {

// nd.reshape: 0 copies an extent, -1 is inferred, -2 copies all the rest, -3 merges two, -4 splits one into the next
// two (one of which may be -1). With `reverse`, codes are read and matched from the last one backwards, so the two
// extents of a split stand before its code.
Shape resolve_nd_reshape(const Shape& in, const Shape& codes, bool reverse, const char* operation);

// npx.reshape: -1 is inferred, -2 copies an extent, -3 drops an axis of extent 1, -4 copies all the rest, -5 merges
// two, -6 splits one into the next two.
Shape resolve_npx_reshape(const Shape& in, const Shape& codes, bool reverse, const char* operation);

// np.reshape: only -1.
Shape resolve_np_reshape(const Shape& in, const Shape& shape, const char* operation);

}  // namespace headrace
