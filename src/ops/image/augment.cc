#include "ops/image/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "ops/image/scale.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

using Pixel = unsigned char;

Pixel saturated(float value) noexcept { return static_cast<Pixel>(std::clamp(std::nearbyint(value), 0.0F, 255.0F)); }

Interpolation interpolation_of(int64_t method, const Picture& from, int64_t height, int64_t width, Draws& draws) {
  if (method == 10) return static_cast<Interpolation>(draws.below(5));
  if (method != 9) return static_cast<Interpolation>(method);
  if (width > from.width && height > from.height) return Interpolation::kCubic;
  return width < from.width && height < from.height ? Interpolation::kArea : Interpolation::kLinear;
}

void scale(Picture& image, int64_t height, int64_t width, Interpolation interpolation) {
  constexpr int64_t kMostPixels = int64_t{1} << 30;
  check(height > 0 && width > 0 && height <= kMostPixels / width, ErrorKind::kRuntime,
        "an image of {} x {} pixels cannot become one of {} x {}", image.width, image.height, width, height);
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

void resize_short(Picture& image, const RecordAttrs& a, Draws& draws) {
  const bool is_tall = image.height > image.width;
  const int64_t height = is_tall ? a.resize * image.height / image.width : a.resize;
  const int64_t width = is_tall ? a.resize : a.resize * image.width / image.height;
  scale(image, height, width, interpolation_of(a.inter_method, image, height, width, draws));
}

void add_border(Picture& image, const RecordAttrs& a) {
  const int64_t row = image.width * image.channels, side = a.pad * image.channels;
  const int64_t height = image.height + 2 * a.pad, out_row = row + 2 * side;
  std::vector<Pixel> padded(static_cast<size_t>(height * out_row), static_cast<Pixel>(a.fill_value));
  for (int64_t i = 0; i < image.height; ++i)
    std::copy_n(image.pixels.data() + i * row, row, padded.data() + (i + a.pad) * out_row + side);
  image = {height, image.width + 2 * a.pad, image.channels, std::move(padded)};
}

// A part of random area and proportions in the wanted size; false when ten attempts do not fit.
bool crop_area(Picture& image, const RecordAttrs& a, Draws& draws) {
  const auto as_float = [](double value) { return static_cast<float>(value); };
  const auto area = static_cast<float>(image.height * image.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const float share = draws.between(as_float(a.min_random_area), as_float(a.max_random_area));
    const float ratio = draws.between(as_float(a.min_aspect_ratio), as_float(a.max_aspect_ratio));
    auto height = static_cast<int64_t>(std::round(std::sqrt(area * share / ratio)));
    auto width = static_cast<int64_t>(std::round(std::sqrt(area * share * ratio)));
    if (draws.between(0, 1) > 0.5F) std::swap(height, width);
    if (height > image.height || width > image.width || height < 1 || width < 1) continue;
    const int64_t top = draws.below(image.height - height + 1), left = draws.below(image.width - width + 1);
    cut(image, top, left, height, width);
    scale(image, a.data_shape[1], a.data_shape[2],
          interpolation_of(a.inter_method, image, a.data_shape[1], a.data_shape[2], draws));
    return true;
  }
  return false;
}

// At a random place with rand_crop, otherwise in the middle.
void crop_at(Picture& image, const RecordAttrs& a, int64_t height, int64_t width, Draws& draws) {
  int64_t top = image.height - height, left = image.width - width;
  top = a.rand_crop ? draws.below(top + 1) : top / 2;
  left = a.rand_crop ? draws.below(left + 1) : left / 2;
  cut(image, top, left, height, width);
}

void crop_square(Picture& image, const RecordAttrs& a, Draws& draws) {
  check(std::min(image.height, image.width) >= a.max_crop_size && a.max_crop_size >= a.min_crop_size &&
            a.min_crop_size >= 1,
        ErrorKind::kRuntime,
        "input image size smaller than max_crop_size: {} x {} pixels, min_crop_size {}, max_crop_size {}", image.width,
        image.height, a.min_crop_size, a.max_crop_size);
  const int64_t side = a.min_crop_size + draws.below(a.max_crop_size - a.min_crop_size + 1);
  crop_at(image, a, side, side, draws);
  scale(image, a.data_shape[1], a.data_shape[2],
        interpolation_of(a.inter_method, image, a.data_shape[1], a.data_shape[2], draws));
}

void crop_to_shape(Picture& image, const RecordAttrs& a, Draws& draws) {
  const int64_t height = a.data_shape[1], width = a.data_shape[2];
  const Interpolation interpolation = interpolation_of(a.inter_method, image, height, width, draws);
  const auto in_proportion = [](int64_t to, int64_t from, int64_t other) {
    return static_cast<int64_t>(static_cast<float>(to) / static_cast<float>(from) * static_cast<float>(other));
  };
  if (image.height < height) scale(image, height, in_proportion(height, image.height, image.width), interpolation);
  if (image.width < width) scale(image, in_proportion(width, image.width, image.height), width, interpolation);
  check(image.height >= height && image.width >= width, ErrorKind::kRuntime,
        "input image size smaller than input shape: {} x {} pixels for {} x {}", image.width, image.height, width,
        height);
  crop_at(image, a, height, width, draws);
}

// --- colours ---------------------------------------------------------------------------------------------------------

// OpenCV's grey of a pixel whose first channel is taken for red.
float grey_of(const Pixel* pixel) noexcept {
  return static_cast<float>((pixel[0] * 4899 + pixel[1] * 9617 + pixel[2] * 1868 + 8192) >> 14);
}

void stretch(Picture& image, float factor, float shift) {
  for (Pixel& value : image.pixels) value = saturated(static_cast<float>(value) * factor + shift);
}

void change_contrast(Picture& image, float factor) {
  double sum = 0;
  for (size_t i = 0; i < image.pixels.size(); i += 3) sum += grey_of(&image.pixels[i]);
  stretch(image, factor, (1 - factor) * static_cast<float>(sum / static_cast<double>(image.pixels.size() / 3)));
}

void change_saturation(Picture& image, float factor) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const float grey = (1 - factor) * grey_of(&image.pixels[i]);
    for (size_t k = i; k < i + 3; ++k) image.pixels[k] = saturated(static_cast<float>(image.pixels[k]) * factor + grey);
  }
}

void jitter(Picture& image, const RecordAttrs& a, Draws& draws) {
  std::array<float, 3> factors{};
  const std::array<float, 3> most{static_cast<float>(a.brightness), static_cast<float>(a.contrast),
                                  static_cast<float>(a.saturation)};
  for (size_t i = 0; i < 3; ++i) factors[i] = 1 + draws.between(-most[i], most[i]);
  std::array<size_t, 3> order{0, 1, 2};
  const auto drawn = static_cast<size_t>(draws.below(6));
  std::swap(order[1], order[drawn / 3]);
  std::swap(order[2], order[drawn % 3]);
  for (const size_t change : order) {
    if (change == 0) stretch(image, factors[0], 0);
    if (change == 1) change_contrast(image, factors[1]);
    if (change == 2) change_saturation(image, factors[2]);
  }
}

// Shifts along the principal axes of the colours of ImageNet.
void add_pca_noise(Picture& image, float deviation, Draws& draws) {
  constexpr float kAxes[3][3] = {{55.46F * -0.5675F, 4.794F * 0.7192F, 1.148F * 0.4009F},
                                 {55.46F * -0.5808F, 4.794F * -0.0045F, 1.148F * -0.8140F},
                                 {55.46F * -0.5836F, 4.794F * -0.6948F, 1.148F * 0.4203F}};
  float along[3], shift[3];
  for (float& value : along) value = draws.normal(deviation);
  for (int k = 0; k < 3; ++k) shift[2 - k] = kAxes[k][0] * along[0] + kAxes[k][1] * along[1] + kAxes[k][2] * along[2];
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<Pixel>(std::clamp(static_cast<float>(image.pixels[i]) + shift[i % 3], 0.0F, 255.0F));
}

}  // namespace

float Draws::between(float low, float high) { return uniform01<float>(engine_) * (high - low) + low; }

int64_t Draws::below(int64_t count) { return small_below(engine_, static_cast<uint32_t>(count)); }

float Draws::normal(float deviation) {
  if (!saved_) {
    const auto [first, second] = normal_pair<float>(engine_);
    saved_ = second;
    return first * deviation;
  }
  return *std::exchange(saved_, std::nullopt) * deviation;
}

bool Draws::coin() { return uniform01<double>(engine_) < 0.5; }

void augment(Picture& image, const RecordAttrs& a, Draws& draws) {
  const bool varies =
      a.max_random_area != 1 || a.min_random_area != 1 || a.max_aspect_ratio != 1 || a.min_aspect_ratio != 1;
  if (a.resize != -1) resize_short(image, a, draws);
  if (a.pad > 0) add_border(image, a);
  bool is_cropped = false;
  if (a.random_resized_crop) {
    is_cropped = varies && crop_area(image, a, draws);
  } else if (a.max_crop_size != -1 || a.min_crop_size != -1) {
    crop_square(image, a, draws);
    is_cropped = true;
  }
  if (!is_cropped) crop_to_shape(image, a, draws);
  if (image.channels == 3 && (a.brightness > 0 || a.contrast > 0 || a.saturation > 0)) jitter(image, a, draws);
  if (image.channels == 3 && a.pca_noise > 0) add_pca_noise(image, static_cast<float>(a.pca_noise), draws);
}

}  // namespace headrace
