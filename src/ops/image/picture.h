// Images of bytes, and what augmenters of records do with them, with OpenCV's rules and rounding. A Picture is a value:
// whoever holds it may change it, in any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/image/scale.h"

namespace headrace {

// Pixels row by row, the channels of one pixel together, colours in OpenCV's order: blue, green, red.
struct Picture {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<unsigned char> pixels = {};
};

// Rows and columns around an image, or a part of one.
struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// From places in the image to places in the result: x' = a x + b y + c for columns, and d, e, f for rows.
struct AffineMap {
  float a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

// How much hue (of 180), lightness and saturation (of 255) change.
struct HlsShift {
  int hue = 0, lightness = 0, saturation = 0;
};

// The nearest byte, halves to even.
unsigned char to_pixel(float value) noexcept;

// Raises Error(kRuntime) where there is no such image, or it has more than 2^30 pixels; says what is to become of
// `image`.
void check_target(const Picture& image, int64_t height, int64_t width);

// In another size. Raises Error(kRuntime) as check_target does.
void scale(Picture& image, int64_t height, int64_t width, Interpolation interpolation);
// The part that begins at a row and a column, all of which is in the image.
void cut(Picture& image, int64_t top, int64_t left, int64_t height, int64_t width);
// With pixels of one value around it.
void add_border(Picture& image, const Border& border, unsigned char value);
// Columns in the opposite order.
void mirror(Picture& image);
// The image under a map, in a size of its own; pixels that come from outside of it have one value. Areas count as
// linear. Raises Error(kRuntime) as check_target does.
void warp(Picture& image, const AffineMap& map, int64_t height, int64_t width, Interpolation interpolation,
          unsigned char outside);
// value * factor + shift, for each byte.
void stretch(Picture& image, float factor, float shift);
// Adds to the three of hue, lightness and saturation, within their bounds: 0 to 180, to 255, to 255. Three channels.
void shift_hls(Picture& image, const HlsShift& shift);

}  // namespace headrace
