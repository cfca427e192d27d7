// Convolutions of bytes that give bytes or floats at once: integer sums, scaled by channel, plus what else belongs to
// the layer, rounded once. Run on the thread of a task.
#pragma once

#include "ops/convolution/convolution.h"

namespace headrace {

struct ByteConvolution {
  const Window& window;
  // (n, c, ...) of int8 or uint8; (o, c / groups, ...) of int8; (n, o, ...) of int8, uint8 or float32.
  Image data, weight, out;
  const float *scale = nullptr, *shift = nullptr;  // one per channel: sum * scale + shift
  std::optional<Image> addend = {};                // bytes, times addend_scale added then
  float addend_scale = 1;
  bool relu = false;
};

// Processors without instructions for products of bytes that are summed in int32 get weights of seven bits, because
// their sums of two products have 16 bits.
void convolve_bytes(KernelContext& context, const ByteConvolution& problem);

// The same by oneDNN; false when it has no kernel for this problem on this machine. No array is empty, all are dense.
// The caller is in an arena of this width.
bool onednn_byte_convolution(KernelContext& context, const ByteConvolution& problem, int width);

}  // namespace headrace
