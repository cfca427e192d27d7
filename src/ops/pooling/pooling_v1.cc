// Pooling_v1: the older pooling of images with two spatial axes, whose padding is zeros, also to maxima.

#include <algorithm>

#include "base/check.h"
#include "op/invoke.h"
#include "ops/pooling/pooling.h"

namespace headrace {
namespace {

struct PoolingV1Attrs {
  Shape kernel = {};
  std::string pool_type = "max";
  bool global_pool = false;
  std::string pooling_convention = "valid";
  Shape stride = {}, pad = {};
  static constexpr auto kFields = fields(
      field(&PoolingV1Attrs::kernel, "kernel", "Extent of the window: (h, w)."),
      field(&PoolingV1Attrs::pool_type, "pool_type", "What is taken of a window: its maximum, average or sum.")
          .one_of("max|avg|sum"),
      field(&PoolingV1Attrs::global_pool, "global_pool",
            "Whether the window is the whole image; kernel, stride and pad are then ignored."),
      field(&PoolingV1Attrs::pooling_convention, "pooling_convention",
            "Number of windows per axis: floor((extent + 2 pad - kernel) / stride) + 1 (valid), or the same with ceil, "
            "where a window begins inside (full).")
          .one_of("full|valid"),
      field(&PoolingV1Attrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&PoolingV1Attrs::pad, "pad", "Zeros at both ends of each axis; () is none."));
};

Shape two_numbers(const Shape& given, int64_t missing) {
  const Shape numbers = given.empty() ? Shape{missing, missing} : given;
  check(numbers.size() == 2 && std::ranges::all_of(numbers, [&](int64_t n) { return n >= missing; }),
        ErrorKind::kRuntime, "Pooling_v1: two numbers of at least {} are needed, for two spatial axes; got {}", missing,
        to_string(given));
  return numbers;
}

std::vector<NDArray> pool_v1(std::span<const NDArray> in, const PoolingV1Attrs& a) {
  const Shape& shape = in[0].shape();
  check(shape.size() == 4, ErrorKind::kRuntime, "Pooling_v1: data must be (batch, channel, y, x), got shape {}",
        to_string(shape));
  PoolingAttrs pooling{.pool_type = a.pool_type == "max" ? "max" : "sum", .pooling_convention = a.pooling_convention};
  NDArray data = in[0];
  Shape counts{1, 1};
  if (a.global_pool) {
    pooling.kernel = {shape[2], shape[3]};
  } else {
    const Shape pad = two_numbers(a.pad, 0);
    pooling.kernel = two_numbers(a.kernel, 1);
    pooling.stride = two_numbers(a.stride, 1);
    for (size_t k = 0; k < 2; ++k) {
      const int64_t extent = shape[k + 2] + 2 * pad[k], step = pooling.stride[k], left = extent - pooling.kernel[k];
      check(left >= 0, ErrorKind::kRuntime, "Pooling_v1: kernel {} exceeds the padded extent {}", pooling.kernel[k],
            extent);
      counts[k] = (a.pooling_convention == "full" ? std::min(left + step - 1, extent - 1) : left) / step + 1;
    }
    if (pad[0] > 0 || pad[1] > 0)
      data =
          call("Pad", {data},
               {{"mode", std::string("constant")}, {"pad_width", Shape{0, 0, 0, 0, pad[0], pad[0], pad[1], pad[1]}}});
  }
  NDArray result = invoke_all(find_op("Pooling"), make_attrs(pooling), {&data, 1})[0];
  for (int64_t axis : {2, 3})
    if (result.shape()[static_cast<size_t>(axis)] > counts[static_cast<size_t>(axis - 2)])
      result = call("slice_axis", {result},
                    {{"axis", axis}, {"begin", int64_t{0}}, {"end", counts[static_cast<size_t>(axis - 2)]}});
  if (a.pool_type != "avg") return {result};
  const double area = static_cast<double>(pooling.kernel[0] * pooling.kernel[1]);
  return {call("_mul_scalar", {result}, {{"scalar", 1 / area}})};
}

}  // namespace

Operators pooling_v1_operators() {
  return {general<PoolingV1Attrs>(
      {.name = "Pooling_v1",
       .python = {"nd.Pooling_v1"},
       .doc = "The maximum, average or sum of windows over images (batch, channel, y, x); the older form of Pooling. "
              "Padding is zeros, for maxima too, and an average is a sum over the area of the window, whatever lies "
              "beyond the image. Of equal maxima the first takes the gradient. Raises MXNetError when attributes and "
              "shapes do not fit.",
       .compose = pool_v1,
       .samples = {
           Sample({uniform({2, 3, 5, 6})}, make_attrs(PoolingV1Attrs{.kernel = {3, 2}, .pad = {1, 1}})),
           Sample({uniform({2, 3, 5, 6})},
                  make_attrs(PoolingV1Attrs{
                      .kernel = {2, 2}, .pool_type = "avg", .pooling_convention = "full", .stride = {3, 2}})),
           Sample({uniform({2, 3, 4, 3})}, make_attrs(PoolingV1Attrs{.pool_type = "sum", .global_pool = true}))}})};
}

}  // namespace headrace
