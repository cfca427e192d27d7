#include "ops/image/picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace headrace {

using Pixel = unsigned char;

Pixel to_pixel(float value) noexcept { return static_cast<Pixel>(std::clamp(std::nearbyint(value), 0.0F, 255.0F)); }

void check_target(const Picture& image, int64_t height, int64_t width) {
  constexpr int64_t kMostPixels = int64_t{1} << 30;
  check(height > 0 && width > 0 && height <= kMostPixels / width, ErrorKind::kRuntime,
        "an image of {} x {} pixels cannot become one of {} x {}", image.width, image.height, width, height);
}

void scale(Picture& image, int64_t height, int64_t width, Interpolation interpolation) {
  check_target(image, height, width);
  if (height == image.height && width == image.width) return;
  std::vector<Pixel> scaled(static_cast<size_t>(height * width * image.channels));
  scale_image(image.pixels.data(), scaled.data(), DType::kUint8,
              {image.height, image.width, image.channels, height, width}, interpolation);
  image = {height, width, image.channels, std::move(scaled)};
}

void cut(Picture& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  if (height == image.height && width == image.width) return;
  const int64_t row = width * image.channels;
  std::vector<Pixel> part(static_cast<size_t>(height * row));
  for (int64_t i = 0; i < height; ++i)
    std::copy_n(image.pixels.data() + ((top + i) * image.width + left) * image.channels, row, part.data() + i * row);
  image = {height, width, image.channels, std::move(part)};
}

void add_border(Picture& image, const Border& border, Pixel value) {
  const int64_t height = image.height + border.top + border.bottom, width = image.width + border.left + border.right;
  check_target(image, height, width);
  const int64_t row = image.width * image.channels, out_row = width * image.channels;
  std::vector<Pixel> padded(static_cast<size_t>(height * out_row), value);
  for (int64_t i = 0; i < image.height; ++i)
    std::copy_n(image.pixels.data() + i * row, row,
                padded.data() + (i + border.top) * out_row + border.left * image.channels);
  image = {height, width, image.channels, std::move(padded)};
}

void mirror(Picture& image) {
  for (int64_t i = 0; i < image.height; ++i) {
    Pixel* const row = image.pixels.data() + i * image.width * image.channels;
    for (int64_t left = 0, right = image.width - 1; left < right; ++left, --right)
      std::swap_ranges(row + left * image.channels, row + (left + 1) * image.channels, row + right * image.channels);
  }
}

void stretch(Picture& image, float factor, float shift) {
  for (Pixel& value : image.pixels) value = to_pixel(static_cast<float>(value) * factor + shift);
}

}  // namespace headrace
