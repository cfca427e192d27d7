// imresize, image.resize.
#include "base/check.h"
#include "op/formula/transfer.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/image/scale.h"

namespace headrace {
namespace {

struct ScaleAttrs {
  int64_t w = 1, h = 1, interp = 1;
  static constexpr auto kFields = fields(
      field(&ScaleAttrs::w, "w", "Columns of the result.").required().between(1, kMostInt),
      field(&ScaleAttrs::h, "h", "Rows of the result.").required().between(1, kMostInt),
      field(&ScaleAttrs::interp, "interp", "0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8 x 8 elements.")
          .between(0, 4));
};

void check_size(const char* name, int64_t width, int64_t height, int64_t interpolation) {
  check(width > 0 && height > 0 && width <= INT32_MAX && height <= INT32_MAX, ErrorKind::kValue,
        "{}: a positive size is needed, got width {} and height {}", name, width, height);
  check(interpolation >= 0 && interpolation <= 4, ErrorKind::kValue,
        "{}: interp must be 0 (nearest), 1 (linear), 2 (cubic), 3 (area) or 4 (Lanczos), got {}", name, interpolation);
}

void infer_scale(Infer& i, const ScaleAttrs& a) {
  const Shape& shape = i.shape(0);
  i.require(shape.size() == 3 || shape.size() == 4, ErrorKind::kRuntime,
            "an image (height, width, channels) or a batch of them is needed, got shape {}", to_string(shape));
  const DType dtype = i.dtype(0);
  i.require(dtype == DType::kUint8 || dtype == DType::kFloat32 || dtype == DType::kFloat64, ErrorKind::kType,
            "images of uint8, float32 or float64 are needed, got {}; convert them with astype", dtype_name(dtype));
  check_size(i.name(), a.w, a.h, a.interp);
  Shape result = shape;
  result[shape.size() - 3] = a.h;
  result[shape.size() - 2] = a.w;
  i.require(i.size(0) > 0 || element_count(result) == 0, ErrorKind::kRuntime, "an image of shape {} has no elements",
            to_string(shape));
  i.cost(1000 + static_cast<double>(i.size(0) + element_count(result)) * 3);
  i.output(result, dtype);
}

// Of pixels one after another, of uint8 or float32.
void scale_images(const void* from, void* to, DType dtype, int64_t count, const ScaledImage& image,
                  Interpolation interpolation) {
  const int64_t item = static_cast<int64_t>(item_size(dtype)) * image.channels;
  const int64_t step = image.height * image.width * item, out_step = image.out_height * image.out_width * item;
  for (int64_t n = 0; n < count; ++n)
    scale_image(static_cast<const char*>(from) + n * step, static_cast<char*>(to) + n * out_step, dtype, image,
                interpolation);
}

void run_scale(KernelContext& c, const ScaleAttrs& a) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const size_t axis = from.shape.size() - 3;
  const ScaledImage image{from.shape[axis], from.shape[axis + 1], from.shape[axis + 2], a.h, a.w};
  const int64_t count = axis == 0 ? 1 : from.shape[0];
  const auto interpolation = static_cast<Interpolation>(a.interp);
  if (from.dtype != DType::kFloat64) return scale_images(from.data, to.data, from.dtype, count, image, interpolation);
  float* values = c.workspace<float>(from.size);
  float* scaled = c.workspace<float>(to.size);
  load_function(from.dtype, ComputeType::kFloat32)(values, from.data, 1, from.size);
  scale_images(values, scaled, DType::kFloat32, count, image, interpolation);
  store_function(ComputeType::kFloat32, to.dtype)(scaled, to.data, 1, to.size);
}

OpDef imresize() {
  using A = ScaleAttrs;
  return general<A>(
      {.name = "_cvimresize",
       .aliases = {"_npi_cvimresize"},
       .python = {"nd._internal._cvimresize"},
       .doc = "An image (height, width, channels), or a batch of them, of uint8, float32 or float64 in another size, "
              "with OpenCV's rules and rounding; float64 is computed in float32. Raises MXNetError for other shapes, "
              "TypeError for other dtypes, ValueError "
              "for a size or interp that there is not.",
       .inputs = {"src"},
       .infer = infer_scale,
       .kernel = run_scale,
       .zero_gradient = true,
       .samples = {Sample({integers({4, 5, 3}, 0, 255, DType::kUint8)}, make_attrs(A{7, 9, 1})),
                   Sample({integers({2, 8, 6, 1}, 0, 255, DType::kUint8)}, make_attrs(A{3, 4, 3}))}});
}

// --- image.resize ----------------------------------------------------------------------------------------------------

struct ImageResizeAttrs {
  Shape size = {};
  bool keep_ratio = false;
  int64_t interp = 1;
  static constexpr auto kFields = fields(
      field(&ImageResizeAttrs::size, "size",
            "(width, height) of the result, or one number: of both, or see keep_ratio."),
      field(&ImageResizeAttrs::keep_ratio, "keep_ratio", "Whether one number is the size of the shorter side alone."),
      field(&ImageResizeAttrs::interp, "interp", "As of imresize.").between(0, 4));
};

ScaleAttrs scale_of(const ImageResizeAttrs& a, const Shape& shape) {
  check(a.size.size() == 1 || a.size.size() == 2, ErrorKind::kValue,
        "resize: size must be one number or (width, height), got {}", to_string(a.size));
  check_size("resize", a.size[0], a.size.back(), a.interp);
  const int64_t height = shape[shape.size() - 3], width = shape[shape.size() - 2];
  if (a.size.size() == 2) return {a.size[0], a.size[1], a.interp};
  if (!a.keep_ratio || height == 0 || width == 0) return {a.size[0], a.size[0], a.interp};
  if (height > width) return {a.size[0], height * a.size[0] / width, a.interp};
  return {width * a.size[0] / height, a.size[0], a.interp};
}

OpDef image_resize() {
  using A = ImageResizeAttrs;
  return general<A>(
      {.name = "_image_resize",
       .aliases = {"_npx__image_resize"},
       .python = {"nd.image.resize", "npx.image.resize"},
       .doc =
           "Images (height, width, channels), or a batch of them, of uint8, float32 or float64 in another size. Raises "
           "MXNetError for other shapes, TypeError for other dtypes, ValueError for a size that is not positive.",
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         check(in[0].ndim() == 3 || in[0].ndim() == 4, ErrorKind::kRuntime,
               "resize: an image (height, width, channels) or a batch of them is needed, got shape {}",
               to_string(in[0].shape()));
         static const OpDef& op = find_op("_cvimresize");
         return {call(op, make_attrs(scale_of(a, in[0].shape())), {in[0]})};
       },
       .samples = {Sample({integers({4, 5, 3}, 0, 255, DType::kUint8)}, make_attrs(A{.size = {3}, .keep_ratio = true})),
                   Sample({integers({2, 4, 4, 1}, 0, 255, DType::kUint8)}, make_attrs(A{.size = {5, 2}}))}});
}

}  // namespace

Operators scale_operators() { return {imresize(), image_resize()}; }

}  // namespace headrace
