// Images as data sets hold them, and as networks take them.
#include "ops/image/image_operators.h"

#include <algorithm>
#include <array>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/image/image_shape.h"

namespace headrace {
namespace {

// What to_tensor makes of bytes, in one pass.
void divide_on_host(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  const size_t axis = from.shape.size() - 3;
  const int64_t plane = from.shape[axis] * from.shape[axis + 1], channels = from.shape[axis + 2];
  std::array<float, 256> quotients;
  for (size_t byte = 0; byte < quotients.size(); ++byte) quotients[byte] = static_cast<float>(byte) / 255.0F;
  const auto* bytes = from.as<const unsigned char>();
  auto* floats = to.as<float>();
  parallel_for(plane == 0 ? 0 : from.size / plane, 1, static_cast<double>(from.size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {  // a channel of an image
      const unsigned char* source = bytes + row / channels * plane * channels + row % channels;
      float* result = floats + row * plane;
      for (int64_t i = 0; i < plane; ++i) result[i] = quotients[source[i * channels]];
    }
  });
}

OpDef bytes_to_tensor() {
  return general(
      {.name = "_image_bytes_to_tensor",
       .doc = "image.to_tensor of uint8.",
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .infer =
           [](Infer& i, const NoAttrs&) {
             Shape shape = i.shape(0);
             i.require((shape.size() == 3 || shape.size() == 4) && i.dtype(0) == DType::kUint8, ErrorKind::kRuntime,
                       "images of uint8 are needed, got {} of shape {}", dtype_name(i.dtype(0)), to_string(shape));
             std::rotate(shape.end() - 3, shape.end() - 1, shape.end());
             i.cost(1000 + static_cast<double>(i.size(0)));
             i.output(shape, DType::kFloat32);
           },
       .kernel = [](KernelContext& c, const NoAttrs&) { divide_bytes(c); },
       .zero_gradient = true,
       .samples = {integers({2, 3, 3}, 0, 255, DType::kUint8), integers({2, 4, 3, 1}, 0, 255, DType::kUint8)}});
}

OpDef to_tensor() {
  return general(
      {.name = "_image_to_tensor",
       .aliases = {"_npx__image_to_tensor"},
       .python = {"nd.image.to_tensor", "npx.image.to_tensor"},
       .doc = "Images (height, width, channels), or a batch of them, with values in [0, 255], as float32 with channels "
              "before height and width and values in [0, 1]. Raises MXNetError for another number of dimensions.",
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
         const size_t ndim = in[0].ndim();
         check(ndim == 3 || ndim == 4, ErrorKind::kRuntime,
               "to_tensor: expected (height, width, channels) or a batch of such images, got shape {}",
               to_string(in[0].shape()));
         if (in[0].dtype() == DType::kUint8) return {call("_image_bytes_to_tensor", {in[0]})};
         NDArray channels_first =
             call("transpose", {in[0]}, {{"axes", ndim == 3 ? Shape{2, 0, 1} : Shape{0, 3, 1, 2}}});
         NDArray values = call("_div_scalar", {cast_to(channels_first, DType::kFloat32)}, {{"scalar", 255.0}});
         return {contiguous(values)};
       },
       .samples = {integers({2, 3, 3}, 0, 255, DType::kUint8), uniform({2, 4, 3, 1}, 0, 255)}});
}

struct NormalizeAttrs {
  Doubles mean = {0, 0, 0, 0}, std = {1, 1, 1, 1};
  static constexpr auto kFields =
      fields(field(&NormalizeAttrs::mean, "mean", "Subtracted from each channel, or one number for all."),
             field(&NormalizeAttrs::std, "std", "What each channel is then divided by, or one number for all."));
};

// The first numbers of `values`, one per channel, shaped to meet axis -3.
NDArray per_channel(const char* name, const Doubles& values, int64_t channels, const NDArray& like) {
  check(values.size() == 1 || static_cast<int64_t>(values.size()) >= channels, ErrorKind::kValue,
        "normalize: {} must have 1 or {} numbers, got {}", name, channels, values.size());
  std::vector<double> numbers;
  for (int64_t i = 0; i < channels; ++i) numbers.push_back(values[values.size() == 1 ? 0 : static_cast<size_t>(i)]);
  const NDArray made = NDArray::from_host(numbers.data(), {channels, 1, 1}, DType::kFloat64, like.device());
  return cast_to(made, like.dtype());
}

OpDef normalize() {
  using A = NormalizeAttrs;
  return general<A>(
      {.name = "_image_normalize",
       .aliases = {"_npx__image_normalize"},
       .python = {"nd.image.normalize", "npx.image.normalize"},
       .doc = "(x - mean) / std for each channel of images (channels, height, width), or a batch of them. Raises "
              "MXNetError "
              "for another number of dimensions or of channels than 1 or 3, ValueError for too few numbers.",
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         const NDArray& x = in[0];
         check(
             (x.ndim() == 3 || x.ndim() == 4) && is_floating(x.dtype()), ErrorKind::kRuntime,
             "normalize: expected floats of shape (channels, height, width) or a batch of such images, got {} of shape "
             "{}; call to_tensor first",
             dtype_name(x.dtype()), to_string(x.shape()));
         const int64_t channels = x.shape()[x.ndim() - 3];
         check(channels == 1 || channels == 3, ErrorKind::kRuntime,
               "normalize: 1 or 3 channels are needed, got shape {}", to_string(x.shape()));
         NDArray centered = x - per_channel("mean", a.mean, channels, x);
         return {centered / per_channel("std", a.std, channels, x)};
       },
       .samples = {uniform({3, 2, 2}), Sample({uniform({2, 1, 2, 3})}, make_attrs(A{.mean = {0.5}, .std = {0.25}}))}});
}

struct CutAttrs {
  int64_t x = 0, y = 0, width = 1, height = 1;
  static constexpr auto kFields =
      fields(field(&CutAttrs::x, "x", "First column that is kept.").required().between(0, kMostInt),
             field(&CutAttrs::y, "y", "First row that is kept.").required().between(0, kMostInt),
             field(&CutAttrs::width, "width", "Number of columns.").required().between(1, kMostInt),
             field(&CutAttrs::height, "height", "Number of rows.").required().between(1, kMostInt));
};

std::vector<NDArray> cut(std::span<const NDArray> in, const CutAttrs& a) {
  const Shape& shape = in[0].shape();
  const size_t ndim = shape.size();
  check_image("crop", shape);
  const int64_t rows = shape[ndim - 3], columns = shape[ndim - 2];
  check(std::min(a.x, a.y) >= 0 && std::min(a.width, a.height) > 0 &&
            std::max({a.x, a.y, a.width, a.height}) <= std::max(rows, columns),
        ErrorKind::kRuntime,
        "crop: x, y, width and height must name a part of {} rows and {} columns, got {}, {}, {}, {}", rows, columns,
        a.x, a.y, a.width, a.height);
  check(a.x + a.width <= columns && a.y + a.height <= rows, ErrorKind::kRuntime,
        "crop: x + width and y + height must be at most {} and {}, got {} and {}", columns, rows, a.x + a.width,
        a.y + a.height);
  OptionalInts begin{a.y, a.x, 0}, end{a.y + a.height, a.x + a.width, shape[ndim - 1]};
  if (ndim == 4) {
    begin.insert(begin.begin(), 0);
    end.insert(end.begin(), shape[0]);
  }
  return {call("slice", {in[0]}, {{"begin", begin}, {"end", end}})};
}

OpDef fixed_crop() {
  using A = CutAttrs;
  return general<A>({.name = "_image_crop",
                     .aliases = {"_npx__image_crop"},
                     .python = {"nd.image.crop", "npx.image.crop"},
                     .doc = "A part of images (height, width, channels), or of a batch of them. Raises MXNetError for "
                            "another number of dimensions, of channels than 1 or 3, or a part that is not inside.",
                     .compose = cut,
                     .samples = {Sample({uniform({4, 3, 3})}, make_attrs(A{.x = 1, .y = 2, .width = 2, .height = 2})),
                                 Sample({uniform({2, 3, 3, 1})}, make_attrs(A{.y = 1, .width = 3}))}});
}

}  // namespace

const decltype(divide_bytes) divide_bytes{"divide_bytes", divide_on_host};

Operators image_operators() { return {bytes_to_tensor(), to_tensor(), normalize(), fixed_crop()}; }

}  // namespace headrace
