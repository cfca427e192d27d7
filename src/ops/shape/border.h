// Which element stands where in a padded array, read by the compilers of host and device.
#pragma once

#include <cstdint>

namespace headrace {

enum class Border { kConstant, kEdge, kReflect, kSymmetric, kWrap };
constexpr int64_t kOutsideOfArray = -1;

// Which element of an axis of `extent` stands at position i (which may lie outside); kOutsideOfArray for a constant.
inline int64_t border_source(Border border, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (border) {
    case Border::kConstant:
      return kOutsideOfArray;
    case Border::kEdge:
      return i < 0 ? 0 : extent - 1;
    case Border::kWrap:
      return modulo(i, extent);
    case Border::kReflect: {
      if (extent == 1) return 0;
      int64_t place = modulo(i, 2 * (extent - 1));
      return place < extent ? place : 2 * (extent - 1) - place;
    }
    case Border::kSymmetric: {
      int64_t place = modulo(i, 2 * extent);
      return place < extent ? place : 2 * extent - 1 - place;
    }
  }
  return kOutsideOfArray;
}

}  // namespace headrace
