// Changes of the colours of one image, in place. Pixels are rows of `channels` floats, 1 (gray) or 3 (red, green,
// blue), between 0 and 255 as files have them.
#pragma once

#include <array>
#include <span>

namespace headrace::colors {

struct Pixels {
  std::span<float> values;
  size_t channels;

  size_t count() const noexcept { return values.size() / channels; }
};

// Multiplies all values.
void brighten(Pixels image, float factor);
// Multiplies the differences from the mean gray of the image.
void spread(Pixels image, float factor);
// Multiplies the differences from each pixel's own gray. Gray images stay.
void saturate(Pixels image, float factor);
// Turns the hue of hue, lightness and saturation by so many full circles. Gray images stay.
void turn(Pixels image, float circles);
// Adds the principal components of the colours of ImageNet's images, times three factors. Gray images stay.
// Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 4.1.
void light(Pixels image, const std::array<float, 3>& factors);

}  // namespace headrace::colors
