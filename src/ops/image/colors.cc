#include "ops/image/colors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::colors {
namespace {

constexpr float kRed = 0.299f, kGreen = 0.587f, kBlue = 0.114f;  // of gray: ITU-R BT.601

float gray_of(const float* pixel) { return kRed * pixel[0] + kGreen * pixel[1] + kBlue * pixel[2]; }

template <class Change>
void for_each_pixel(Pixels image, const Change& change) {
  if (image.channels != 3) return;
  for (size_t i = 0; i < image.values.size(); i += 3) change(image.values.data() + i);
}

// Hue in circles of six sectors, lightness and saturation in [0, 1].
struct Hls {
  float hue, lightness, saturation;
};

Hls to_hls(const float* pixel) {
  const float red = pixel[0] / 255, green = pixel[1] / 255, blue = pixel[2] / 255;
  const float most = std::max({red, green, blue}), least = std::min({red, green, blue});
  const float range = most - least, sum = most + least;
  if (range <= std::numeric_limits<float>::epsilon()) return {0, sum / 2, 0};
  float hue = 0;
  if (most == red)
    hue = (green - blue) / range;
  else if (most == green)
    hue = (blue - red) / range + 2;
  else
    hue = (red - green) / range + 4;
  return {hue, sum / 2, range / (sum < 1 ? sum : 2 - sum)};
}

void from_hls(const Hls& color, float* pixel) {
  const float chroma = color.saturation * (color.lightness <= 0.5f ? color.lightness : 1 - color.lightness);
  const float high = color.lightness + chroma, low = color.lightness - chroma;
  // Each of the three primaries is high for two sectors, low for two, and between them in the sectors that are left.
  const auto primary = [&](float shift) {
    float place = std::fmod(color.hue + shift, 6.0f);
    if (place < 0) place += 6;
    const float share = std::clamp(std::min(place, 4 - place), 0.0f, 1.0f);
    return 255 * (low + (high - low) * share);
  };
  pixel[0] = primary(2);
  pixel[1] = primary(0);
  pixel[2] = primary(-2);
}

}  // namespace

void brighten(Pixels image, float factor) {
  for (float& value : image.values) value *= factor;
}

void spread(Pixels image, float factor) {
  double sum = 0;
  for (size_t i = 0; i < image.values.size(); i += image.channels)
    sum += image.channels == 3 ? gray_of(image.values.data() + i) : image.values[i];
  const float offset = (1 - factor) * static_cast<float>(sum / static_cast<double>(image.count()));
  for (float& value : image.values) value = value * factor + offset;
}

void saturate(Pixels image, float factor) {
  for_each_pixel(image, [factor](float* pixel) {
    const float gray = gray_of(pixel) * (1 - factor);
    for (size_t c = 0; c < 3; ++c) pixel[c] = gray + pixel[c] * factor;
  });
}

void turn(Pixels image, float circles) {
  for_each_pixel(image, [circles](float* pixel) {
    Hls color = to_hls(pixel);
    color.hue += circles * 6;
    from_hls(color, pixel);
  });
}

void light(Pixels image, const std::array<float, 3>& factors) {
  static constexpr float kValues[3] = {55.46f, 4.794f, 1.148f};
  static constexpr float kVectors[3][3] = {
      {-0.5675f, 0.7192f, 0.4009f}, {-0.5808f, -0.0045f, -0.8140f}, {-0.5836f, -0.6948f, 0.4203f}};
  float added[3] = {};
  for (size_t c = 0; c < 3; ++c)
    for (size_t k = 0; k < 3; ++k) added[c] += kVectors[c][k] * kValues[k] * factors[k];
  for_each_pixel(image, [&added](float* pixel) {
    for (size_t c = 0; c < 3; ++c) pixel[c] += added[c];
  });
}

}  // namespace headrace::colors
