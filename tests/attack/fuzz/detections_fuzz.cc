// Images of records with labels of objects, under every change that there is: src/ops/image/record_reading.cc.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "op/invoke.h"
#include "ops/image/codec.h"
#include "ops/image/detection.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

constexpr size_t kHead = 4;  // numbers in front of a label that comes out

using Numbers = std::vector<float>;

// A byte: how many numbers the label has; a byte: what is drawn; the label; the file of the image.
std::string input(const Numbers& label, const std::vector<unsigned char>& file, unsigned char seed = 1) {
  std::string bytes{static_cast<char>(label.size()), static_cast<char>(seed)};
  bytes.append(reinterpret_cast<const char*>(label.data()), label.size() * sizeof(float));
  return bytes.append(file.begin(), file.end());
}

// The images and the labels that come of it.
std::vector<NDArray> read(std::string_view file, const Numbers& label, int64_t seed, bool plain) {
  const auto size = static_cast<int64_t>(file.size()), count = static_cast<int64_t>(label.size());
  const std::vector<int64_t> places{0, size, seed, 0, count};
  DetectionAttrs attrs{.data_shape = {3, 8, 10}, .label_pad_width = count};
  if (!plain) {
    attrs.resize_mode = "shrink";
    attrs.rand_mirror_prob = attrs.rand_pad_prob = attrs.rand_crop_prob = 0.7;
    attrs.random_hue_prob = attrs.random_contrast_prob = 0.7;
    attrs.max_pad_scale = 2;
    attrs.min_crop_overlaps = {0.1};
    attrs.max_random_hue = 40;
    attrs.max_random_contrast = 0.5;
  }
  const std::vector<NDArray> inputs{NDArray::from_host(file.data(), {size}, DType::kUint8, Device{}),
                                    NDArray::from_host(places.data(), {1, 5}, DType::kInt64, Device{}),
                                    NDArray::from_host(label.data(), {1, count}, DType::kFloat32, Device{})};
  return invoke_all(find_op("_record_detections"), make_attrs(attrs), inputs);
}

void check_result(const std::vector<NDArray>& made, size_t count) {
  for (const float value : made[0].to_vector<float>()) expect(value >= 0 && value <= 255, "a pixel is no byte");
  const std::vector<float> label = made[1].to_vector<float>();
  expect(label.size() == kHead + count && label[1] <= 8 && label[2] <= 10 && label[3] <= static_cast<float>(count),
         "a label says more than there is");
}

std::vector<unsigned char> png(int64_t height, int64_t width) {
  const std::vector<unsigned char> pixels(static_cast<size_t>(height * width * 3), 70);
  return codec::encode_png({pixels, height, width, 3}, 1);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::vector<unsigned char> pixels(9 * 12 * 3, 70);
  const std::vector<unsigned char> jpeg = codec::encode_jpeg({pixels, 9, 12, 3}, 90);
  const Numbers one{2, 5, 0, 0.1F, 0.2F, 0.7F, 0.9F}, two{3, 6, 9, 1, 0, 0, 1, 1, 7, 2, 0.5F, 0.5F, 0.6F, 0.6F, 8};
  const float huge = 1e38F, nan = std::nanf("");
  return {input(one, jpeg),
          input(two, jpeg, 7),
          input(one, png(5, 30), 3),
          input(two, png(30, 2), 9),
          input({huge, 5, 0, 0.1F, 0.2F, 0.7F, 0.9F}, jpeg),
          input({2, huge, 0, 0.1F, 0.2F, 0.7F, 0.9F}, jpeg),
          input({2, 5, nan, nan, -huge, huge, huge}, jpeg),
          input({2, 5, 0, -huge, -huge, huge, huge}, jpeg, 5),
          input({}, jpeg)};
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::fuzz;
  if (size < 2) return 0;
  const size_t count = std::min<size_t>(data[0], (size - 2) / sizeof(float));
  Numbers label(count);
  if (count > 0) std::memcpy(label.data(), data + 2, count * sizeof(float));
  const std::string_view file = text_of(data + 2 + count * sizeof(float), size - 2 - count * sizeof(float));
  for (const bool plain : {true, false}) accepts([&] { check_result(read(file, label, data[1], plain), count); });
  return 0;
}
