// Arrays of images as kernels of convolution and pooling see them: axes in the order (first, channels, spatial...)
// whatever the order in memory and in the user's shape. Any thread.
#pragma once

#include <optional>
#include <string>

#include "op/kernel.h"
#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

struct Image {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape = {};
  Strides strides = {};        // in elements
  Storage* storage = nullptr;  // in whose memory it lies; null for memory of the run alone

  int64_t size() const noexcept {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }
};

using Layout = std::optional<std::string>;  // "NCHW", "NHWC", ...; none: channels are axis 1

inline bool is_channels_last(const Layout& layout) noexcept { return layout && layout->back() == 'C'; }

// A shape or strides with the axis of channels moved from the end to the second place, and back.
Shape channels_second(const Shape& shape, bool channels_last);
Shape as_user_sees(const Shape& shape, bool channels_last);

Image image_of(const Tensor& tensor, bool channels_last);

// The same elements packed channels-last, in workspace.
Image packed_image(KernelContext& context, const Image& image);

// The strides of a result of this shape (channels second): channels innermost where the kernels are oneDNN's, which are
// up to twice as fast so; row-major for the dtypes that it does not know.
Strides image_strides(const Shape& shape, DType dtype);

// States a result; `shape` has channels second.
void output_image(Infer& infer, const Shape& shape, DType dtype, bool channels_last);

// Raises unless the layout fits this number of spatial axes.
void require_layout(const char* name, const Layout& layout, size_t spatial);

// One number per spatial axis: `given`, or `otherwise` everywhere when nothing is given. Raises MXNetError for another
// count of numbers and for numbers outside [least, 2^31).
Shape per_axis(const char* name, const char* what, const Shape& given, size_t spatial, int64_t otherwise,
               int64_t least);

}  // namespace headrace
