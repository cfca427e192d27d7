#include "ops/image/detection.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/image/augment.h"

namespace headrace {
namespace {

float as_float(double value) noexcept { return static_cast<float>(value); }

// All numbers are drawn whatever comes of them.
void change_colors(Picture& image, const DetectionAttrs& a, Draws& draws) {
  const auto drawn = [&](double most) { return draws.between(-1, 1) * as_float(most); };
  const auto drawn_whole = [&](int64_t most) { return static_cast<int>(drawn(static_cast<double>(most))); };
  int hue = drawn_whole(a.max_random_hue), saturation = drawn_whole(a.max_random_saturation);
  int lightness = drawn_whole(a.max_random_illumination);
  float contrast = drawn(a.max_random_contrast);
  const auto happens = [&](double probability) { return draws.between(0, 1) < as_float(probability); };
  if (!happens(a.random_hue_prob)) hue = 0;
  if (!happens(a.random_saturation_prob)) saturation = 0;
  if (!happens(a.random_illumination_prob)) lightness = 0;
  if (!happens(a.random_contrast_prob)) contrast = 0;
  if (image.channels == 3 && (hue != 0 || saturation != 0 || lightness != 0))
    shift_hls(image, {.hue = hue, .lightness = lightness, .saturation = saturation});
  if (std::abs(contrast) > 1e-3F) stretch(image, contrast + 1, 0);
}

void pad(Picture& image, BoxLabel& label, const DetectionAttrs& a, Draws& draws) {
  constexpr float kLeastGrowth = 1.05F;
  const float size = draws.between(1, as_float(a.max_pad_scale));
  if (size < kLeastGrowth) return;
  const float x = draws.between(0, size - 1), y = draws.between(0, size - 1);
  const Region around{-x, -y, size, size};
  label.project(around);
  const auto share_of = [](float share, int64_t pixels) {
    return static_cast<int64_t>(std::clamp(share * static_cast<float>(pixels), 0.0F, as_float(1 << 30)));
  };
  add_border(image,
             {.top = share_of(y, image.height),
              .bottom = share_of(around.height + around.y - 1, image.height),
              .left = share_of(x, image.width),
              .right = share_of(around.width + around.x - 1, image.width)},
             static_cast<unsigned char>(a.fill_value));
}

Region draw_part(const DetectionAttrs& a, size_t sampler, float image_ratio, Draws& draws) {
  const float size = draws.between(as_float(a.min_crop_scales[sampler]), as_float(a.max_crop_scales[sampler])) + 1e-12F;
  const float square = size * size;
  const float least = std::max(as_float(a.min_crop_aspect_ratios[sampler]) / image_ratio, square);
  const float most = std::min(as_float(a.max_crop_aspect_ratios[sampler]) / image_ratio, as_float(1.0 / square));
  const float ratio = std::sqrt(draws.between(least, most));
  const float width = std::min(1.0F, size * ratio), height = std::min(1.0F, size / ratio);
  const float x = draws.between(0, 1 - width), y = draws.between(0, 1 - height);
  return {x, y, width, height};
}

CropRule rule_of(const DetectionAttrs& a, size_t sampler) {
  return {.min_overlap = as_float(a.min_crop_overlaps[sampler]),
          .max_overlap = as_float(a.max_crop_overlaps[sampler]),
          .min_sample = as_float(a.min_crop_sample_coverages[sampler]),
          .max_sample = as_float(a.max_crop_sample_coverages[sampler]),
          .min_object = as_float(a.min_crop_object_coverages[sampler]),
          .max_object = as_float(a.max_crop_object_coverages[sampler]),
          .by_center = a.crop_emit_mode == "center",
          .least_overlap = as_float(a.emit_overlap_thresh)};
}

// Where no part of any sampler will do, image and label stay. A part without a pixel does not count as a trial that
// went well.
void crop_to_sample(Picture& image, BoxLabel& label, const DetectionAttrs& a, Draws& draws) {
  const float ratio = static_cast<float>(image.width) / static_cast<float>(image.height);
  const auto pixels = [](float share, int64_t side) { return static_cast<int64_t>(share * static_cast<float>(side)); };
  for (const size_t sampler : draws.order(static_cast<size_t>(a.num_crop_sampler)))
    for (double trial = 0; trial < a.max_crop_trials[sampler]; ++trial) {
      const Region part = draw_part(a, sampler, ratio, draws);
      const int64_t width = pixels(part.width, image.width), height = pixels(part.height, image.height);
      if (width < 1 || height < 1 || !label.crop(part, rule_of(a, sampler))) continue;
      const int64_t left = pixels(part.x, image.width), top = pixels(part.y, image.height);
      cut(image, std::clamp<int64_t>(top, 0, image.height - height), std::clamp<int64_t>(left, 0, image.width - width),
          height, width);
      return;
    }
}

void resize_to_shape(Picture& image, const DetectionAttrs& a, Draws& draws) {
  int64_t height = a.data_shape[1], width = a.data_shape[2];
  if (a.resize_mode == "shrink" && image.height <= height && image.width <= width) return;
  if (a.resize_mode != "force") {
    const auto rows = static_cast<float>(image.height), columns = static_cast<float>(image.width);
    const float ratio = std::min(static_cast<float>(height) / rows, static_cast<float>(width) / columns);
    height = static_cast<int64_t>(ratio * rows);
    width = static_cast<int64_t>(ratio * columns);
  }
  scale(image, height, width, interpolation_of(a.inter_method, image, height, width, draws));
}

}  // namespace

void augment_detection(Picture& image, BoxLabel& label, const DetectionAttrs& a, Draws& draws) {
  if (a.resize != -1) resize_short(image, a.resize, a.inter_method, draws);
  const auto happens = [&](double probability) {
    return probability > 0 && draws.between(0, 1) < as_float(probability);
  };
  if (a.random_hue_prob > 0 || a.random_saturation_prob > 0 || a.random_illumination_prob > 0 ||
      a.random_contrast_prob > 0)
    change_colors(image, a, draws);
  if (happens(a.rand_mirror_prob)) {
    label.mirror();
    mirror(image);
  }
  if (a.max_pad_scale > 1 && happens(a.rand_pad_prob)) pad(image, label, a, draws);
  if (a.num_crop_sampler > 0 && happens(a.rand_crop_prob)) crop_to_sample(image, label, a, draws);
  resize_to_shape(image, a, draws);
}

}  // namespace headrace
