#include "ops/quantization/byte_convolution.h"

#include "backend/cpu/parallel.h"
#include "ops/quantization/byte_images.h"

namespace headrace {
namespace {

constexpr double kCostPerThread = 20'000;  // as of convolutions of floats
constexpr double kSpeed = 2;               // over these, about

bool by_library(KernelContext& c, const ByteConvolution& p) {
  ByteConvolution dense = p;
  const auto pack = [&](Image& image) {
    if (!is_dense(image.shape, image.strides)) image = packed_image(c, image);
  };
  pack(dense.data);
  pack(dense.weight);
  if (dense.addend) pack(*dense.addend);
  const int width = width_for(convolution_cost(DType::kFloat32, p.weight.shape, p.out.shape) / kSpeed, kCostPerThread);
  bool done = false;
  run_in_arena_of(width, [&] { done = onednn_byte_convolution(c, dense, width); });
  return done;
}

void as_convolution_of_floats(KernelContext& c, const ByteConvolution& p) {
  ConvolutionProblem wide{.window = p.window};
  wide.data = as_floats(c, p.data);
  wide.weight = as_floats(c, p.weight);
  wide.out = floats_for(c, p.out);
  wide.after = {.scale = p.scale, .shift = p.shift, .relu = p.relu};
  if (p.addend) {
    wide.after.sum = as_floats(c, *p.addend);
    auto* numbers = static_cast<float*>(wide.after.sum->data);
    for (int64_t k = 0; k < p.addend->size(); ++k) numbers[k] *= p.addend_scale;
  }
  convolve(c, wide);
  write_rounded(c, wide.out, p.out);
}

}  // namespace

void convolve_bytes(KernelContext& c, const ByteConvolution& p) {
  const bool is_empty = p.data.size() == 0 || p.weight.size() == 0 || p.out.size() == 0;
  // The library makes the sum in place of the result.
  const bool is_wide_sum = p.addend && p.out.dtype == DType::kFloat32;
  if (is_empty || is_wide_sum || !by_library(c, p)) as_convolution_of_floats(c, p);
}

}  // namespace headrace
