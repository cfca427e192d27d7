// Extents of graphs whose shapes are not all known: -1 is one that nobody knows yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace headrace {

inline bool is_open(std::span<const int64_t> extents) { return std::ranges::count(extents, -1) > 0; }

// Their product; -1 where one is not known.
inline int64_t open_product(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return is_open(extents) ? -1 : product;
}

}  // namespace headrace
