// Image files of records become a batch for a network, each in a thread that has time.
#include <algorithm>
#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "headrace/error.hpp"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/image/augment.h"
#include "ops/image/codec.h"

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

template <class T>
void write_channels(const Picture& image, const RecordAttrs& a, const Values& values, const float* mean_image, T* to) {
  const int64_t plane = image.height * image.width, channels = image.channels;
  for (int64_t k = 0; k < channels; ++k) {
    const auto channel = static_cast<size_t>(k);
    const auto mean = static_cast<float>(a.mean[channel]), deviation = static_cast<float>(a.std[channel]);
    const float factor = values.factor / deviation, shift = values.shift / deviation;
    const unsigned char* from = image.pixels.data() + (channels - 1 - k);
    for (int64_t i = 0; i < plane; ++i) {
      const auto pixel = static_cast<float>(from[i * channels]);
      const float middle = mean_image == nullptr ? mean : mean_image[k * plane + i];
      const int64_t column = i % image.width;
      T& result = to[k * plane + (values.mirrored ? i - column + image.width - 1 - column : i)];
      if constexpr (std::is_same_v<T, float>)
        result = (pixel - middle) * factor + shift;
      else if constexpr (std::is_same_v<T, int8_t>)
        result = static_cast<int8_t>(std::clamp(pixel - std::round(middle), -128.0F, 127.0F));
      else
        result = static_cast<T>(pixel);
    }
  }
}

void write_one(codec::Bytes file, uint32_t seed, const RecordAttrs& a, const float* mean_image, const Tensor& out,
               int64_t row) {
  const bool is_grey = a.data_shape[0] == 1;
  const codec::Header header = codec::read_header(file);
  Picture image{header.height, header.width, a.data_shape[0], {}};
  image.pixels.resize(static_cast<size_t>(image.height * image.width * image.channels));
  codec::decode(file, is_grey ? codec::Color::kGray : codec::Color::kBgr, image.pixels.data());
  Draws draws(seed);
  augment(image, a, draws);
  const Values values = draw_values(a, draws);
  const int64_t place = row * element_count(a.data_shape);
  if (out.dtype == DType::kUint8)
    write_channels(image, a, values, mean_image, out.as<unsigned char>() + place);
  else if (out.dtype == DType::kInt8)
    write_channels(image, a, values, mean_image, out.as<int8_t>() + place);
  else
    write_channels(image, a, values, mean_image, out.as<float>() + place);
}

void run_records(KernelContext& c, const RecordAttrs& a) {
  const Tensor &bytes = c.input(0), &places = c.input(1), &out = c.output(0);
  const float* mean_image = a.has_mean_image ? c.input(2).as<const float>() : nullptr;
  const int64_t count = places.shape[0];
  parallel_for(count, 1, static_cast<double>(bytes.size) * 100 + static_cast<double>(out.size) * 5,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t* place = places.as<const int64_t>() + row * 4;
                   check(place[0] >= 0 && place[1] >= 0 && place[0] <= bytes.size && place[1] <= bytes.size - place[0],
                         ErrorKind::kRuntime, "{}: image {} is not in the {} bytes", c.name(), row, bytes.size);
                   try {
                     write_one({bytes.as<const unsigned char>() + place[0], static_cast<size_t>(place[1])},
                               static_cast<uint32_t>(place[2]), a, mean_image, out, row);
                   } catch (const Error& error) {
                     throw Error(error.kind(),
                                 "'" + a.file + "', record at byte " + std::to_string(place[3]) + ": " + error.what());
                   }
                 }
               });
}

void infer_records(Infer& i, const RecordAttrs& a) {
  const Shape& shape = a.data_shape;
  i.require(shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) && shape[1] > 0 && shape[2] > 0, ErrorKind::kRuntime,
            "data_shape must be (1 or 3, height, width), got {}", to_string(shape));
  i.require(i.dtype(0) == DType::kUint8 && i.dtype(1) == DType::kInt64 && i.shape(1).size() == 2 && i.shape(1)[1] == 4,
            ErrorKind::kRuntime, "bytes of uint8 and places of int64 and shape (count, 4) are needed, got {} and {}",
            dtype_name(i.dtype(0)), to_string(i.shape(1)));
  i.require(a.mean.size() >= 3 && a.std.size() >= 3, ErrorKind::kValue, "mean and std need 3 numbers");
  i.require(!a.has_mean_image || (i.shape(2) == shape && i.dtype(2) == DType::kFloat32), ErrorKind::kRuntime,
            "the mean image must be float32 of shape {}", to_string(shape));
  Shape result{i.shape(1)[0]};
  for (const int64_t extent : shape) result.push_back(extent);
  i.cost(static_cast<double>(i.size(0)) * 100 + static_cast<double>(element_count(result)) * 5);
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
                      .infer = infer_records,
                      .kernel = run_records,
                      .zero_gradient = true,
                      .unsampled = "its input are files; tests/python/test_image_records.py"})};
}

}  // namespace headrace
