// Images of records made ready for a network: resized, cut, coloured and mirrored as MXNet's default augmenter does.
#pragma once

#include <cstdint>
#include <string>

#include "op/op_def.h"
#include "ops/image/draws.h"
#include "ops/image/picture.h"

namespace headrace {

struct RecordAttrs {
  std::string file, dtype = "float32";
  Shape data_shape = {};
  int64_t resize = -1, inter_method = 1, pad = 0, fill_value = 255, min_crop_size = -1, max_crop_size = -1;
  bool rand_crop = false, random_resized_crop = false, mirror = false, rand_mirror = false;
  double min_random_area = 1, max_random_area = 1, min_aspect_ratio = 1, max_aspect_ratio = 1;
  int64_t max_rotate_angle = 0, rotate = -1;
  Shape rotate_list = {};
  double max_shear_ratio = 0, min_random_scale = 1, max_random_scale = 1, min_img_size = 0, max_img_size = 1e10;
  double brightness = 0, contrast = 0, saturation = 0, pca_noise = 0;
  int64_t random_h = 0, random_s = 0, random_l = 0;
  Doubles mean = {0, 0, 0}, std = {1, 1, 1};
  double scale = 1, max_random_contrast = 0, max_random_illumination = 0;
  bool has_mean_image = false;
  static constexpr double kMostAngle = 1 << 30;
  static constexpr auto kFields = fields(
      field(&RecordAttrs::data_shape, "data_shape", "(channels, height, width) of the result.").required(),
      field(&RecordAttrs::file, "file", "The name of the file, for errors."),
      field(&RecordAttrs::dtype, "dtype", "Of the result.").one_of("float32|uint8|int8"),
      field(&RecordAttrs::resize, "resize", "Pixels of the shorter side; -1: as it is."),
      field(&RecordAttrs::inter_method, "inter_method", "0 to 4 as of imresize; 9 by the sizes, 10 by chance."),
      field(&RecordAttrs::pad, "pad", "Pixels around the image."),
      field(&RecordAttrs::fill_value, "fill_value", "Of these pixels.").between(0, 255),
      field(&RecordAttrs::min_crop_size, "min_crop_size", "Least side of the square that is cut."),
      field(&RecordAttrs::max_crop_size, "max_crop_size", "Largest side of it."),
      field(&RecordAttrs::rand_crop, "rand_crop", "Whether parts are cut at random places."),
      field(&RecordAttrs::random_resized_crop, "random_resized_crop", "Whether parts have random areas and ratios."),
      field(&RecordAttrs::mirror, "mirror", "Whether left and right change places."),
      field(&RecordAttrs::rand_mirror, "rand_mirror", "Whether they do in half of the images."),
      field(&RecordAttrs::min_random_area, "min_random_area", "Least share of the area."),
      field(&RecordAttrs::max_random_area, "max_random_area", "Largest share of it."),
      field(&RecordAttrs::min_aspect_ratio, "min_aspect_ratio", "Least width over height."),
      field(&RecordAttrs::max_aspect_ratio, "max_aspect_ratio", "Largest width over height."),
      field(&RecordAttrs::max_rotate_angle, "max_rotate_angle", "Most degrees that the image turns by chance.")
          .between(0, kMostAngle),
      field(&RecordAttrs::rotate, "rotate", "Degrees that it always turns, if positive.").between(-1, kMostAngle),
      field(&RecordAttrs::rotate_list, "rotate_list", "Degrees, one of which it turns."),
      field(&RecordAttrs::max_shear_ratio, "max_shear_ratio", "Most that columns shift with each row."),
      field(&RecordAttrs::min_random_scale, "min_random_scale", "Least factor of both sides."),
      field(&RecordAttrs::max_random_scale, "max_random_scale", "Largest factor of them."),
      field(&RecordAttrs::min_img_size, "min_img_size", "Least side of the image that was turned and scaled."),
      field(&RecordAttrs::max_img_size, "max_img_size", "Largest side of it."),
      field(&RecordAttrs::brightness, "brightness", "Most that the brightness changes."),
      field(&RecordAttrs::contrast, "contrast", "Most that the contrast changes."),
      field(&RecordAttrs::saturation, "saturation", "Most that the saturation changes."),
      field(&RecordAttrs::pca_noise, "pca_noise", "Deviation of the noise along the principal axes of colours."),
      field(&RecordAttrs::random_h, "random_h", "Most that the hue changes, of 180.").between(-kMostAngle, kMostAngle),
      field(&RecordAttrs::random_s, "random_s", "Most that the saturation changes, of 255.")
          .between(-kMostAngle, kMostAngle),
      field(&RecordAttrs::random_l, "random_l", "Most that the lightness changes, of 255.")
          .between(-kMostAngle, kMostAngle),
      field(&RecordAttrs::mean, "mean", "Subtracted from red, green, blue."),
      field(&RecordAttrs::std, "std", "What red, green, blue are divided by."),
      field(&RecordAttrs::scale, "scale", "A factor of all values."),
      field(&RecordAttrs::max_random_contrast, "max_random_contrast", "Most that this factor changes."),
      field(&RecordAttrs::max_random_illumination, "max_random_illumination", "Most that is added."),
      field(&RecordAttrs::has_mean_image, "has_mean_image", "Whether there is a mean image instead of mean."));
};

// The interpolation that `inter_method` means for an image that becomes one of another size: 0 to 4 are its number, 9
// is by the sizes, 10 by chance.
Interpolation interpolation_of(int64_t inter_method, const Picture& from, int64_t height, int64_t width, Draws& draws);

// A shorter side of `side` pixels.
void resize_short(Picture& image, int64_t side, int64_t inter_method, Draws& draws);

// The image in the size of `data_shape` (channels, height, width). Raises Error(kRuntime) where it is too small for the
// part that is to be cut.
void augment(Picture& image, const RecordAttrs& attrs, Draws& draws);

}  // namespace headrace
