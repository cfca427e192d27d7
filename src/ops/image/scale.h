// Images (rows, columns, channels) in another size, with OpenCV's rules and, for uint8, its rounding.
#pragma once

#include <cstdint>

#include "headrace/dtype.hpp"

namespace headrace {

enum class Interpolation : uint8_t { kNearest, kLinear, kCubic, kArea, kLanczos };  // OpenCV's numbers

struct ScaledImage {
  int64_t height, width, channels;
  int64_t out_height, out_width;
};

// `from` and `to` are packed elements of `dtype`: uint8 or float32.
void scale_image(const void* from, void* to, DType dtype, const ScaledImage& image, Interpolation interpolation);

}  // namespace headrace
