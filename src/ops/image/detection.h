// Images of records with objects in them made ready for a network: image and label changed together, as MXNet's
// augmenter for detection does.
#pragma once

#include <cstdint>
#include <string>

#include "op/op_def.h"
#include "ops/image/boxes.h"
#include "ops/image/draws.h"
#include "ops/image/picture.h"

namespace headrace {

struct DetectionAttrs {
  std::string file, resize_mode = "force", crop_emit_mode = "center";
  Shape data_shape = {};
  int64_t resize = -1, inter_method = 1, fill_value = 127, label_pad_width = 0, num_crop_sampler = 1;
  double label_pad_value = -1, emit_overlap_thresh = 0.3;
  double rand_crop_prob = 0, rand_pad_prob = 0, rand_mirror_prob = 0, max_pad_scale = 1;
  // A number for each sampler of parts.
  Doubles min_crop_scales = {0}, max_crop_scales = {1}, min_crop_aspect_ratios = {1}, max_crop_aspect_ratios = {1};
  Doubles min_crop_overlaps = {0}, max_crop_overlaps = {1}, min_crop_sample_coverages = {0};
  Doubles max_crop_sample_coverages = {1}, min_crop_object_coverages = {0}, max_crop_object_coverages = {1};
  Doubles max_crop_trials = {25};
  int64_t max_random_hue = 0, max_random_saturation = 0, max_random_illumination = 0;
  double max_random_contrast = 0, random_hue_prob = 0, random_saturation_prob = 0, random_illumination_prob = 0;
  double random_contrast_prob = 0;
  Doubles mean = {0, 0, 0}, std = {0, 0, 0};
  double scale = 1;
  bool has_mean_image = false;
  using Self = DetectionAttrs;
  static constexpr auto kFields = fields(
      field(&Self::data_shape, "data_shape", "(channels, height, width) of the result.").required(),
      field(&Self::label_pad_width, "label_pad_width", "Numbers of each label, filled up.").between(0, kMostInt),
      field(&Self::label_pad_value, "label_pad_value", "What it is filled up with."),
      field(&Self::file, "file", "The name of the file, for errors."),
      field(&Self::resize, "resize", "Pixels of the shorter side at first; -1: as it is."),
      field(&Self::resize_mode, "resize_mode",
            "force: the size of the result; shrink: no side larger than it; fit: one side as large.")
          .one_of("force|shrink|fit"),
      field(&Self::inter_method, "inter_method", "0 to 4 as of imresize; 9 by the sizes, 10 by chance."),
      field(&Self::fill_value, "fill_value", "Of pixels around the image.").between(0, 255),
      field(&Self::rand_mirror_prob, "rand_mirror_prob", "How probable it is that left and right change places."),
      field(&Self::rand_pad_prob, "rand_pad_prob", "How probable a border is."),
      field(&Self::max_pad_scale, "max_pad_scale", "Largest factor of the sides with it."),
      field(&Self::rand_crop_prob, "rand_crop_prob", "How probable it is that a part is cut."),
      field(&Self::num_crop_sampler, "num_crop_sampler", "Number of samplers of parts, tried in random order."),
      field(&Self::max_crop_trials, "max_crop_trials", "How often each is tried."),
      field(&Self::min_crop_scales, "min_crop_scales", "Least share of the sides."),
      field(&Self::max_crop_scales, "max_crop_scales", "Largest share of them."),
      field(&Self::min_crop_aspect_ratios, "min_crop_aspect_ratios", "Least width over height."),
      field(&Self::max_crop_aspect_ratios, "max_crop_aspect_ratios", "Largest width over height."),
      field(&Self::min_crop_overlaps, "min_crop_overlaps", "Least intersection over union with an object."),
      field(&Self::max_crop_overlaps, "max_crop_overlaps", "Largest one."),
      field(&Self::min_crop_sample_coverages, "min_crop_sample_coverages", "Least share of the part in an object."),
      field(&Self::max_crop_sample_coverages, "max_crop_sample_coverages", "Largest one."),
      field(&Self::min_crop_object_coverages, "min_crop_object_coverages", "Least share of an object in the part."),
      field(&Self::max_crop_object_coverages, "max_crop_object_coverages", "Largest one."),
      field(&Self::crop_emit_mode, "crop_emit_mode", "Which objects stay: by their centre, or by emit_overlap_thresh.")
          .one_of("center|overlap"),
      field(&Self::emit_overlap_thresh, "emit_overlap_thresh", "Share of an object that must be in the part."),
      field(&Self::max_random_hue, "max_random_hue", "Most that the hue changes, of 180.").between(-kMostInt, kMostInt),
      field(&Self::random_hue_prob, "random_hue_prob", "How probable that is."),
      field(&Self::max_random_saturation, "max_random_saturation", "Most that the saturation changes, of 255.")
          .between(-kMostInt, kMostInt),
      field(&Self::random_saturation_prob, "random_saturation_prob", "How probable that is."),
      field(&Self::max_random_illumination, "max_random_illumination", "Most that the lightness changes, of 255.")
          .between(-kMostInt, kMostInt),
      field(&Self::random_illumination_prob, "random_illumination_prob", "How probable that is."),
      field(&Self::max_random_contrast, "max_random_contrast", "Most that the factor of all values changes."),
      field(&Self::random_contrast_prob, "random_contrast_prob", "How probable that is."),
      field(&Self::mean, "mean", "Subtracted from red, green, blue, if one is positive."),
      field(&Self::std, "std", "What red, green, blue are divided by, where positive."),
      field(&Self::scale, "scale", "A factor of all values."),
      field(&Self::has_mean_image, "has_mean_image", "Whether there is a mean image."));
};

// The image, in a size that fits into `data_shape` (channels, height, width), and its label. Raises Error(kRuntime)
// where it cannot have that size.
void augment_detection(Picture& image, BoxLabel& label, const DetectionAttrs& attrs, Draws& draws);

}  // namespace headrace
