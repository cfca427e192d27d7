// Extents of graphs whose shapes are not all known: -1 is one that nobody knows yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "headrace/shape.hpp"

namespace headrace {

inline bool is_open(std::span<const int64_t> extents) { return std::ranges::count(extents, -1) > 0; }

// Their product; -1 where one is not known. Raises MemoryError as element_count() does.
inline int64_t open_product(std::span<const int64_t> extents) {
  return is_open(extents) ? -1 : element_count(Shape(extents.begin(), extents.end()));
}

}  // namespace headrace
