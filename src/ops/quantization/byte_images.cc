#include "ops/quantization/byte_images.h"

#include "ndarray/strided_copy.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

Tensor tensor_of(const Image& image) { return {image.data, image.dtype, image.shape, image.strides, image.size()}; }

// The same image row-major in workspace, unwritten.
Image blank(KernelContext& c, const Image& like, DType dtype) {
  return {c.workspace(static_cast<size_t>(like.size()) * item_size(dtype)), dtype, like.shape,
          contiguous_strides(like.shape)};
}

}  // namespace

Image floats_for(KernelContext& c, const Image& bytes) { return blank(c, bytes, DType::kFloat32); }

Image row_major(KernelContext& c, const Image& image) {
  if (image.strides == contiguous_strides(image.shape)) return image;
  Image packed = blank(c, image, image.dtype);
  strided_copy(packed.data, packed.strides, image.data, image.strides, image.shape, image.dtype);
  return packed;
}

Image as_floats(KernelContext& c, const Image& bytes) {
  const Image packed = row_major(c, bytes);
  const Image floats = floats_for(c, bytes);
  rescale(tensor_of(packed), 1, 0, tensor_of(floats));
  return floats;
}

void write_rounded(KernelContext& c, const Image& floats, const Image& to) {
  const Image rounded = to.strides == floats.strides ? to : blank(c, to, to.dtype);
  rescale(tensor_of(floats), 1, 0, tensor_of(rounded));
  if (rounded.data != to.data) strided_copy(to.data, to.strides, rounded.data, rounded.strides, to.shape, to.dtype);
}

}  // namespace headrace
