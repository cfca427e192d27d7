// Windows and images as kernels for GPUs see them (ops/convolution/window.cuh).
#pragma once

#include <algorithm>

#include "ops/convolution/image.h"
#include "ops/convolution/plain_grid.h"
#include "ops/convolution/window.cuh"

namespace headrace {

inline void copy_triple(const Triple& from, int64_t (&to)[3]) { std::ranges::copy(from, to); }

inline device::ImageStrides device_strides(const Image& image) {
  device::ImageStrides made{.first = image.strides[0], .channel = image.strides[1], .place = {}};
  copy_triple(spatial(image.strides, 2, 0), made.place);
  return made;
}

// `dilate`: none for windows without gaps.
inline device::WindowGeometry device_window(const Image& data, const Image& out, const Shape& kernel, const Shape& step,
                                            const Shape& dilate, const Shape& pad) {
  device::WindowGeometry made{};
  copy_triple(spatial(data.shape, 2, 1), made.data);
  copy_triple(spatial(out.shape, 2, 1), made.out);
  copy_triple(spatial(kernel, 0, 1), made.kernel);
  copy_triple(spatial(step, 0, 1), made.step);
  copy_triple(spatial(dilate, 0, 1), made.dilate);
  copy_triple(spatial(pad, 0, 0), made.pad);
  return made;
}

}  // namespace headrace
