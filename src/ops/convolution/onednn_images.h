// Images as oneDNN is told about them. Any thread.
#pragma once

#include "ndarray/view.h"
#include "ops/convolution/image.h"
#include "ops/onednn.h"

namespace headrace::onednn {

// A weight (o, i, ...) as (groups, o / groups, i, ...); itself for one group.
inline Image with_group_axis(const Image& weight, int64_t groups) {
  if (groups == 1) return weight;
  Image split = weight;
  split.shape = {groups, weight.shape[0] / groups};
  split.strides = {weight.strides[0] * split.shape[1], weight.strides[0]};
  for (size_t i = 1; i < weight.shape.size(); ++i) {
    split.shape.push_back(weight.shape[i]);
    split.strides.push_back(weight.strides[i]);
  }
  return split;
}

// An image, which is dense, as it lies, and as it would lie with channels last.
inline dnnl::memory::desc given(const Image& image) { return *describe(image.shape, image.strides, image.dtype); }
inline dnnl::memory::desc channels_last(const Image& image) {
  return *describe(image.shape, channels_last_strides(image.shape), image.dtype);
}

}  // namespace headrace::onednn
