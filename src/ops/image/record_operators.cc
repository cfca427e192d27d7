// Image files of records become a batch for a network, each in a thread that has time.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/image/augment.h"
#include "ops/image/record_reading.h"

namespace headrace {
namespace {

DType dtype_of(const RecordAttrs& a) {
  return a.dtype == "uint8" ? DType::kUint8 : a.dtype == "int8" ? DType::kInt8 : DType::kFloat32;
}

// What becomes of a value after the pixels are in place.
struct Values {
  float factor = 1, shift = 0;
  bool mirrored = false;
};

Values draw_values(const RecordAttrs& a, Draws& draws) {
  Values values;
  values.mirrored = (a.rand_mirror && draws.coin()) || a.mirror;
  if (a.dtype == "uint8") return values;
  const auto drawn = [&](double most) {
    const auto limit = static_cast<float>(most);
    return draws.between(0, 1) * limit * 2 - limit;
  };
  values.factor = (drawn(a.max_random_contrast) + 1) * static_cast<float>(a.scale);
  values.shift = drawn(a.max_random_illumination) * static_cast<float>(a.scale);
  return values;
}

constexpr size_t kLevels = 256;

// What each byte becomes, for each channel of the result.
template <class T>
using Table = std::array<std::array<T, kLevels>, 3>;

template <class T>
T converted(float pixel, float mean, float factor, float shift) noexcept {
  if constexpr (std::is_same_v<T, float>)
    return (pixel - mean) * factor + shift;
  else if constexpr (std::is_same_v<T, int8_t>)
    return static_cast<int8_t>(std::clamp(pixel - std::round(mean), -128.0F, 127.0F));
  else
    return static_cast<T>(pixel);
}

// Calls put(channel, place of the result, place in the image, byte) for all; colours go from blue, green, red to red,
// green, blue.
template <int64_t kChannels, class Put>
void for_each_byte(const Picture& image, bool mirrored, const Put& put) {
  const unsigned char* from = image.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    const int64_t begin = y * image.width;
    for (int64_t x = 0; x < image.width; ++x, from += kChannels) {
      const int64_t to = begin + (mirrored ? image.width - 1 - x : x);
      for (int64_t k = 0; k < kChannels; ++k) put(k, to, begin + x, from[kChannels - 1 - k]);
    }
  }
}

template <class T, int64_t kChannels>
void write_channels(const Picture& image, const RecordAttrs& a, const Values& values, const float* mean_image, T* to) {
  const int64_t plane = image.height * image.width;
  std::array<float, 3> factors{}, shifts{};
  for (size_t k = 0; k < kChannels; ++k) {
    factors[k] = values.factor / static_cast<float>(a.std[k]);
    shifts[k] = values.shift / static_cast<float>(a.std[k]);
  }
  if (mean_image != nullptr) {
    for_each_byte<kChannels>(image, values.mirrored, [&](int64_t k, int64_t place, int64_t from, unsigned char byte) {
      const auto channel = static_cast<size_t>(k);
      to[k * plane + place] = converted<T>(byte, mean_image[k * plane + from], factors[channel], shifts[channel]);
    });
    return;
  }
  Table<T> table;
  for (size_t k = 0; k < kChannels; ++k)
    for (size_t level = 0; level < kLevels; ++level)
      table[k][level] = converted<T>(static_cast<float>(level), static_cast<float>(a.mean[k]), factors[k], shifts[k]);
  for_each_byte<kChannels>(image, values.mirrored, [&](int64_t k, int64_t place, int64_t, unsigned char byte) {
    to[k * plane + place] = table[static_cast<size_t>(k)][byte];
  });
}

void run_records(KernelContext& c, const RecordAttrs& a) {
  const Tensor& out = c.output(0);
  const float* mean_image = a.has_mean_image ? c.input(2).as<const float>() : nullptr;
  const int64_t size = element_count(a.data_shape);
  for_each_record(c, a.file, [&](const RecordImage& record) {
    Picture image = read_picture(record.file, a.data_shape[0]);
    Draws draws(record.seed);
    augment(image, a, draws);
    const Values values = draw_values(a, draws);
    const auto write = [&]<class T>(T* to) {
      if (image.channels == 1)
        write_channels<T, 1>(image, a, values, mean_image, to + record.row * size);
      else
        write_channels<T, 3>(image, a, values, mean_image, to + record.row * size);
    };
    if (out.dtype == DType::kUint8)
      write(out.as<unsigned char>());
    else if (out.dtype == DType::kInt8)
      write(out.as<int8_t>());
    else
      write(out.as<float>());
  });
}

void infer_record_batch(Infer& i, const RecordAttrs& a) {
  const Shape result = infer_records(i, a.data_shape, 4);
  i.require(a.mean.size() >= 3 && a.std.size() >= 3, ErrorKind::kValue, "mean and std need 3 numbers");
  i.require(!a.has_mean_image || (i.shape(2) == a.data_shape && i.dtype(2) == DType::kFloat32), ErrorKind::kRuntime,
            "the mean image must be float32 of shape {}", to_string(a.data_shape));
  i.output(result, dtype_of(a));
}

}  // namespace

Operators record_operators() {
  using A = RecordAttrs;
  return {general<A>({.name = "_record_images",
                      .doc = "A batch (count, channels, height, width) of the image files that lie one after the other "
                             "in `bytes`; a row of `places` has begin, length, seed and, for errors, the offset in the "
                             "file.",
                      .inputs = {"bytes", "places", "mean_image"},
                      .optional_inputs = 1,
                      .input_count = [](const A& a) -> size_t { return a.has_mean_image ? 3 : 2; },
                      .infer = infer_record_batch,
                      .kernel = run_records,
                      .zero_gradient = true,
                      .unsampled = "its input are files; tests/python/test_image_records.py"})};
}

}  // namespace headrace
