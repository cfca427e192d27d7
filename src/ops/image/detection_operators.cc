// Image files of records with objects in them become a batch for a network, and their labels with them.
#include <algorithm>

#include "base/check.h"
#include "ops/image/detection.h"
#include "ops/image/record_reading.h"

namespace headrace {
namespace {

constexpr size_t kCount = 4;  // the column of places that says how many numbers a label has
constexpr int64_t kHead = 4;  // numbers in front of a label: channels, height and width of the image, how many follow
constexpr int64_t kMostSamplers = 1 << 15;

// Red, green, blue one after the other. What the image does not fill counts as black.
void write_values(const Picture& image, const DetectionAttrs& a, const float* mean_image, float* to) {
  const int64_t channels = image.channels, height = a.data_shape[1], width = a.data_shape[2];
  const bool has_mean = std::any_of(a.mean.begin(), a.mean.end(), [](double mean) { return mean > 0; });
  const auto scale = static_cast<float>(a.scale);
  for (int64_t k = 0; k < channels; ++k) {
    const auto channel = static_cast<size_t>(k);
    const auto mean = has_mean ? static_cast<float>(a.mean[channel]) : 0.0F;
    const auto deviation = a.std[channel] > 0 ? static_cast<float>(a.std[channel]) : 1.0F;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const int64_t place = (k * height + y) * width + x;
        const bool has_pixel = y < image.height && x < image.width;
        const auto from = static_cast<size_t>((y * image.width + x) * channels + channels - 1 - k);
        const float value = has_pixel ? image.pixels[from] : 0.0F;
        const float middle = has_mean || mean_image == nullptr ? mean : mean_image[place];
        to[place] = (value - middle) / deviation * scale;
      }
  }
}

void write_label(const Picture& image, const std::vector<float>& numbers, const DetectionAttrs& a, float* to) {
  *to++ = static_cast<float>(image.channels);
  *to++ = static_cast<float>(image.height);
  *to++ = static_cast<float>(image.width);
  *to++ = static_cast<float>(numbers.size());
  to = std::copy(numbers.begin(), numbers.end(), to);
  std::fill_n(to, a.label_pad_width - static_cast<int64_t>(numbers.size()), static_cast<float>(a.label_pad_value));
}

void run_detections(KernelContext& c, const DetectionAttrs& a) {
  const Tensor &labels = c.input(2), &images = c.output(0), &made = c.output(1);
  const float* mean_image = a.has_mean_image ? c.input(3).as<const float>() : nullptr;
  const int64_t width = labels.shape[1];
  for_each_record(c, a.file, [&](const RecordImage& record) {
    const int64_t count = record.place[kCount];
    check(count >= 0 && count <= width, ErrorKind::kRuntime, "{}: a label of {} numbers is not in rows of {}", c.name(),
          count, width);
    BoxLabel label({labels.as<const float>() + record.row * width, static_cast<size_t>(count)});
    Picture image = read_picture(record.file, a.data_shape[0]);
    Draws draws(record.seed);
    augment_detection(image, label, a, draws);
    write_values(image, a, mean_image, images.as<float>() + record.row * element_count(a.data_shape));
    write_label(image, label.numbers(), a, made.as<float>() + record.row * (a.label_pad_width + kHead));
  });
}

void infer_detections(Infer& i, const DetectionAttrs& a) {
  const Shape result = infer_records(i, a.data_shape, kCount + 1);
  const Shape& labels = i.shape(2);
  i.require(
      labels.size() == 2 && labels[0] == result[0] && labels[1] <= a.label_pad_width && i.dtype(2) == DType::kFloat32,
      ErrorKind::kRuntime, "labels of float32 and shape ({}, {} at most) are needed, got {} of shape {}", result[0],
      a.label_pad_width, dtype_name(i.dtype(2)), to_string(labels));
  i.require(a.mean.size() >= 3 && a.std.size() >= 3, ErrorKind::kValue, "mean and std need 3 numbers");
  i.require(a.num_crop_sampler <= kMostSamplers, ErrorKind::kValue, "num_crop_sampler must be at most {}, got {}",
            kMostSamplers, a.num_crop_sampler);
  for (const Doubles* numbers :
       {&a.min_crop_scales, &a.max_crop_scales, &a.min_crop_aspect_ratios, &a.max_crop_aspect_ratios,
        &a.min_crop_overlaps, &a.max_crop_overlaps, &a.min_crop_sample_coverages, &a.max_crop_sample_coverages,
        &a.min_crop_object_coverages, &a.max_crop_object_coverages, &a.max_crop_trials})
    i.require(static_cast<int64_t>(numbers->size()) >= a.num_crop_sampler, ErrorKind::kValue,
              "a number for each of {} samplers is needed, got {}", a.num_crop_sampler, numbers->size());
  i.require(!a.has_mean_image || (i.shape(3) == a.data_shape && i.dtype(3) == DType::kFloat32), ErrorKind::kRuntime,
            "the mean image must be float32 of shape {}", to_string(a.data_shape));
  i.output(result, DType::kFloat32);
  i.output({result[0], a.label_pad_width + kHead}, DType::kFloat32);
}

}  // namespace

Operators detection_record_operators() {
  using A = DetectionAttrs;
  return {general<A>({.name = "_record_detections",
                      .doc = "A batch (count, channels, height, width) of the image files that lie one after the other "
                             "in `bytes`, and labels (count, 4 + label_pad_width): channels, height, width, how many "
                             "numbers follow, and these. A row of `places` has begin, length, seed, for errors the "
                             "offset in the file, and how many numbers of the row of `labels` count.",
                      .inputs = {"bytes", "places", "labels", "mean_image"},
                      .optional_inputs = 1,
                      .outputs = 2,
                      .input_count = [](const A& a) -> size_t { return a.has_mean_image ? 4 : 3; },
                      .infer = infer_detections,
                      .kernel = run_detections,
                      .zero_gradient = true,
                      .unsampled = "its input are files; tests/python/test_detection_records.py"})};
}

}  // namespace headrace
