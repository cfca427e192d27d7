#include "ops/image/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"

namespace headrace {
namespace {

// A map that shears, turns, scales and stretches by chance, around the middle.
void change_shape(Picture& image, const RecordAttrs& a, Draws& draws) {
  const auto as_float = [](double value) { return static_cast<float>(value); };
  const float most_shear = as_float(a.max_shear_ratio);
  const float shear = draws.between(0, 1) * most_shear * 2 - most_shear;
  int64_t angle = draws.below(2 * a.max_rotate_angle + 1) - a.max_rotate_angle;
  if (a.rotate > 0) angle = a.rotate;
  if (!a.rotate_list.empty())
    angle = a.rotate_list[static_cast<size_t>(draws.below(static_cast<int64_t>(a.rotate_list.size())))];
  const double radians = static_cast<double>(angle) / 180.0 * std::numbers::pi;
  const float cosine = as_float(std::cos(radians)), sine = as_float(std::sin(radians));
  const auto drawn = [&](double least, double most) {
    return a.random_resized_crop ? 1.0F : draws.between(0, 1) * (as_float(most) - as_float(least)) + as_float(least);
  };
  const float size = drawn(a.min_random_scale, a.max_random_scale);
  const float ratio = drawn(a.min_aspect_ratio, a.max_aspect_ratio);
  const float high = 2 * size / (1 + ratio), wide = ratio * high;
  const auto columns = static_cast<float>(image.width), rows = static_cast<float>(image.height);
  const auto bounded = [&](float side) {
    return std::max(as_float(a.min_img_size), std::min(as_float(a.max_img_size), side));
  };
  const float width = bounded(size * columns), height = bounded(size * rows);
  constexpr float kMostSide = 1 << 30;
  check(width < kMostSide && height < kMostSide, ErrorKind::kRuntime,
        "an image of {} x {} pixels cannot become one of {} x {}", image.width, image.height, width, height);
  AffineMap map{
      high * cosine - shear * sine * wide, high * sine + shear * cosine * wide, 0, -sine * wide, cosine * wide, 0};
  map.c = (width - (map.a * columns + map.b * rows)) / 2;
  map.f = (height - (map.d * columns + map.e * rows)) / 2;
  const Interpolation interpolation =
      interpolation_of(a.inter_method, image, static_cast<int64_t>(height), static_cast<int64_t>(width), draws);
  warp(image, map, static_cast<int64_t>(height), static_cast<int64_t>(width), interpolation,
       static_cast<unsigned char>(a.fill_value));
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
float grey_of(const unsigned char* pixel) noexcept {
  return static_cast<float>((pixel[0] * 4899 + pixel[1] * 9617 + pixel[2] * 1868 + 8192) >> 14);
}

void change_contrast(Picture& image, float factor) {
  double sum = 0;
  for (size_t i = 0; i < image.pixels.size(); i += 3) sum += grey_of(&image.pixels[i]);
  stretch(image, factor, (1 - factor) * static_cast<float>(sum / static_cast<double>(image.pixels.size() / 3)));
}

void change_saturation(Picture& image, float factor) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const float grey = (1 - factor) * grey_of(&image.pixels[i]);
    for (size_t k = i; k < i + 3; ++k) image.pixels[k] = to_pixel(static_cast<float>(image.pixels[k]) * factor + grey);
  }
}

void jitter_colors(Picture& image, const RecordAttrs& a, Draws& draws) {
  std::array<float, 3> factors{};
  const std::array<float, 3> most{static_cast<float>(a.brightness), static_cast<float>(a.contrast),
                                  static_cast<float>(a.saturation)};
  for (size_t i = 0; i < 3; ++i) factors[i] = 1 + draws.between(-most[i], most[i]);
  for (const size_t change : draws.order(3)) {
    if (change == 0) stretch(image, factors[0], 0);
    if (change == 1) change_contrast(image, factors[1]);
    if (change == 2) change_saturation(image, factors[2]);
  }
}

// Sums of draws, so that large changes are rare.
void change_hls(Picture& image, const RecordAttrs& a, Draws& draws) {
  const auto drawn = [&] {
    const float first = draws.between(0, 1);
    return (first + 4 * draws.between(0, 1)) / 5;
  };
  const float hue = drawn(), saturation = drawn(), lightness = drawn();
  const auto shift = [](float share, int64_t most) {
    const auto limit = static_cast<float>(most);
    return static_cast<int>(share * limit * 2 - limit);
  };
  shift_hls(image, {.hue = shift(hue, a.random_h),
                    .lightness = shift(lightness, a.random_l),
                    .saturation = shift(saturation, a.random_s)});
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
    image.pixels[i] =
        static_cast<unsigned char>(std::clamp(static_cast<float>(image.pixels[i]) + shift[i % 3], 0.0F, 255.0F));
}

}  // namespace

Interpolation interpolation_of(int64_t inter_method, const Picture& from, int64_t height, int64_t width, Draws& draws) {
  if (inter_method == 10) return static_cast<Interpolation>(draws.below(5));
  if (inter_method != 9) return static_cast<Interpolation>(inter_method);
  if (width > from.width && height > from.height) return Interpolation::kCubic;
  return width < from.width && height < from.height ? Interpolation::kArea : Interpolation::kLinear;
}

void resize_short(Picture& image, int64_t side, int64_t inter_method, Draws& draws) {
  const bool is_tall = image.height > image.width;
  const int64_t height = is_tall ? side * image.height / image.width : side;
  const int64_t width = is_tall ? side : side * image.width / image.height;
  scale(image, height, width, interpolation_of(inter_method, image, height, width, draws));
}

void augment(Picture& image, const RecordAttrs& a, Draws& draws) {
  if (a.resize != -1) resize_short(image, a.resize, a.inter_method, draws);
  const bool has_shape = a.max_rotate_angle > 0 || a.max_shear_ratio > 0 || a.rotate > 0 || !a.rotate_list.empty() ||
                         a.max_random_scale != 1 || a.min_random_scale != 1 || a.max_img_size != 1e10 ||
                         a.min_img_size != 0;
  const bool has_ratio = a.min_aspect_ratio != 1 || a.max_aspect_ratio != 1;
  if (has_shape || (has_ratio && !a.random_resized_crop)) change_shape(image, a, draws);
  if (a.pad > 0) add_border(image, {a.pad, a.pad, a.pad, a.pad}, static_cast<unsigned char>(a.fill_value));
  bool is_cropped = false;
  if (a.random_resized_crop) {
    is_cropped = (has_ratio || a.max_random_area != 1 || a.min_random_area != 1) && crop_area(image, a, draws);
  } else if (a.max_crop_size != -1 || a.min_crop_size != -1) {
    crop_square(image, a, draws);
    is_cropped = true;
  }
  if (!is_cropped) crop_to_shape(image, a, draws);
  if (image.channels == 3 && (a.brightness > 0 || a.contrast > 0 || a.saturation > 0)) jitter_colors(image, a, draws);
  if (image.channels == 3 && (a.random_h != 0 || a.random_s != 0 || a.random_l != 0)) change_hls(image, a, draws);
  if (image.channels == 3 && a.pca_noise > 0) add_pca_noise(image, static_cast<float>(a.pca_noise), draws);
}

}  // namespace headrace
