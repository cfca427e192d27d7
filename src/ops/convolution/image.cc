#include "ops/convolution/image.h"

#include "base/check.h"
#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {

Shape channels_second(const Shape& shape, bool channels_last) {
  if (!channels_last || shape.size() < 3) return shape;
  Shape moved{shape[0], shape.back()};
  for (size_t i = 1; i + 1 < shape.size(); ++i) moved.push_back(shape[i]);
  return moved;
}

Shape as_user_sees(const Shape& shape, bool channels_last) {
  if (!channels_last || shape.size() < 3) return shape;
  Shape moved{shape[0]};
  for (size_t i = 2; i < shape.size(); ++i) moved.push_back(shape[i]);
  moved.push_back(shape[1]);
  return moved;
}

Image image_of(const Tensor& tensor, bool channels_last) {
  return {tensor.data, tensor.dtype, channels_second(tensor.shape, channels_last),
          channels_second(tensor.strides, channels_last), tensor.storage};
}

Image packed_image(KernelContext& context, const Image& image) {
  Image packed = image;
  packed.strides = channels_last_strides(image.shape);
  packed.storage = nullptr;
  packed.data = context.workspace(static_cast<size_t>(image.size()) * item_size(image.dtype));
  strided_copy(packed.data, packed.strides, image.data, image.strides, image.shape, image.dtype);
  return packed;
}

Strides image_strides(const Shape& shape, DType dtype) {
  const bool library = dtype == DType::kFloat32 || dtype == DType::kBfloat16 || dtype == DType::kFloat16 ||
                       dtype == DType::kInt8 || dtype == DType::kUint8;
  return library ? channels_last_strides(shape) : contiguous_strides(shape);
}

void output_image(Infer& infer, const Shape& shape, DType dtype, bool channels_last) {
  if (channels_last)
    infer.output(as_user_sees(shape, true), dtype);
  else
    infer.output(shape, dtype, image_strides(shape, dtype));
}

void require_layout(const char* name, const Layout& layout, size_t spatial) {
  if (!layout) return;
  check(layout->size() == spatial + 2, ErrorKind::kRuntime,
        "{}: layout {} is for {} spatial axes, but kernel has {}; expected {}", name, *layout, layout->size() - 2,
        spatial, spatial == 1 ? "NCW or NWC" : (spatial == 2 ? "NCHW or NHWC" : "NCDHW or NDHWC"));
}

Shape per_axis(const char* name, const char* what, const Shape& given, size_t spatial, int64_t otherwise,
               int64_t least) {
  if (given.empty()) return Shape(spatial, otherwise);
  check(given.size() == spatial, ErrorKind::kRuntime, "{}: expected {} numbers in {}, one per axis of kernel, got {}",
        name, spatial, what, to_string(given));
  for (int64_t number : given)
    check(number >= least && number < (int64_t{1} << 31), ErrorKind::kRuntime,
          "{}: every number of {} must be at least {} and below 2^31, got {}", name, what, least, to_string(given));
  return given;
}

}  // namespace headrace
