#include "kvstore/compression.h"

#include "base/check.h"
#include "op/invoke.h"

namespace headrace::kvstore {

void check_compression(const TwoBitCompression& compression) {
  check(static_cast<float>(compression.threshold) > 0, ErrorKind::kValue,
        "kvstore set_gradient_compression: threshold must be greater than 0 as a float32, got {}",
        compression.threshold);
}

std::vector<NDArray> send_compressed(const TwoBitCompression& compression, std::span<const NDArray> values,
                                     std::vector<NDArray>& residuals, Device home) {
  if (residuals.size() < values.size()) residuals.resize(values.size());
  std::vector<NDArray> arrived;
  for (size_t i = 0; i < values.size(); ++i) {
    const NDArray value = contiguous(values[i]);
    NDArray& residual = residuals[i];
    if (!residual)
      residual = full(value.shape(), 0, value.dtype(), value.device());
    else if (residual.device() != value.device())
      residual = copied_to(residual, value.device());
    NDArray packed = call("_two_bit_quantize", {value, residual}, {{"threshold", compression.threshold}});
    if (packed.device() != home) packed = copied_to(packed, home);
    arrived.push_back(
        call("_two_bit_dequantize", {packed}, {{"threshold", compression.threshold}, {"shape", value.shape()}}));
  }
  return arrived;
}

}  // namespace headrace::kvstore
