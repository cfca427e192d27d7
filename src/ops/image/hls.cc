// Bytes of blue, green, red to those of hue, lightness, saturation and back, with OpenCV's order of operations: many
// values lie in the middle between two bytes, and the last bit of a float decides.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/image/picture.h"

namespace headrace {
namespace {

constexpr float kOfByte = 1.0F / 255;

using PixelBytes = std::array<unsigned char, 3>;

PixelBytes to_hls_bytes(const unsigned char* pixel) {
  const float blue = static_cast<float>(pixel[0]) * kOfByte, green = static_cast<float>(pixel[1]) * kOfByte;
  const float red = static_cast<float>(pixel[2]) * kOfByte;
  const float most = std::max({red, green, blue}), least = std::min({red, green, blue});
  const float range = most - least, sum = most + least, lightness = sum * 0.5F;
  float hue = 0, saturation = 0;
  if (range > std::numeric_limits<float>::epsilon()) {
    saturation = lightness < 0.5F ? range / sum : range / (2 - sum);
    const float sector = 60 / range;
    if (most == red)
      hue = (green - blue) * sector;
    else if (most == green)
      hue = (blue - red) * sector + 120;
    else
      hue = (red - green) * sector + 240;
    if (hue < 0) hue += 360;
  }
  return {to_pixel(hue * 0.5F), to_pixel(lightness * 255), to_pixel(saturation * 255)};
}

void from_hls_bytes(const PixelBytes& hls, unsigned char* pixel) {
  const float lightness = static_cast<float>(hls[1]) * kOfByte, saturation = static_cast<float>(hls[2]) * kOfByte;
  if (saturation == 0) {
    std::fill_n(pixel, 3, to_pixel(lightness * 255));
    return;
  }
  const float high = lightness <= 0.5F ? lightness * (1 + saturation) : lightness + saturation - lightness * saturation;
  const float low = 2 * lightness - high;
  float place = static_cast<float>(hls[0]) * (6.0F / 180);
  if (place >= 6) place -= 6;
  const float sector = std::floor(place), share = place - sector;
  const float falling = low + (high - low) * (1 - share), rising = low + (high - low) * share;
  // Blue, green, red of each sixth of the circle, from red by way of yellow.
  const float colors[6][3] = {{low, rising, high},  {low, high, falling}, {rising, high, low},
                              {high, falling, low}, {high, low, rising},  {falling, low, high}};
  for (size_t k = 0; k < 3; ++k) pixel[k] = to_pixel(colors[static_cast<size_t>(sector)][k] * 255);
}

}  // namespace

void shift_hls(Picture& image, const HlsShift& shift) {
  const std::array<int, 3> shifts{shift.hue, shift.lightness, shift.saturation};
  constexpr std::array<int, 3> kMost{180, 255, 255};
  for (size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    PixelBytes hls = to_hls_bytes(&image.pixels[i]);
    for (size_t k = 0; k < 3; ++k) hls[k] = static_cast<unsigned char>(std::clamp(hls[k] + shifts[k], 0, kMost[k]));
    from_hls_bytes(hls, &image.pixels[i]);
  }
}

}  // namespace headrace
