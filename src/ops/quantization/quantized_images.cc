// Convolution and pooling of bytes, as MXNet has them: exact int32 sums with the range that they stand for; bytes with
// the range that they had.

#include "ndarray/strided_copy.h"
#include "op/expect.h"
#include "ops/convolution/convolution_rules.h"
#include "ops/linalg/matrix.h"
#include "ops/pooling/pooling.h"
#include "ops/quantization/byte_images.h"
#include "ops/quantization/layers.h"
#include "ops/quantization/products.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

void infer_convolution_of_bytes(Infer& i, const ConvolutionAttrs& a) {
  const size_t arrays = a.no_bias ? 2 : 3;
  i.require(i.input_count() == 3 * arrays, ErrorKind::kType, "{} arrays are needed with no_bias={}, got {}", 3 * arrays,
            a.no_bias, i.input_count());
  i.require(a.num_group == 1, ErrorKind::kRuntime, "only num_group=1 is supported, got {}", a.num_group);
  const Window w = window_of(i.name(), a);
  require_rank(i.name(), w, i.shape(0));
  expect_quantized(i, 0);
  const Shape data = channels_second(i.shape(0), w.channels_last), weight = weight_shape(w, a.num_filter, data[1]);
  require_shape(i, 1, "weight", weight, w.channels_last);
  for (size_t k = 1; k < arrays; ++k)
    i.require(i.dtype(k) == DType::kInt8, ErrorKind::kRuntime, "{} must hold int8, got {}", k == 1 ? "weight" : "bias",
              dtype_name(i.dtype(k)));
  if (!a.no_bias) require_shape(i, 2, "bias", Shape{a.num_filter}, false);
  expect_numbers(i, arrays);
  const Shape out = convolved_shape(i, w, data, a.num_filter);
  quantized_outputs(i, as_user_sees(out, w.channels_last), DType::kInt32);
  set_convolution_cost(i, weight, out, 1);
}

// Some of the channels of an image.
Image channels_of(const Image& image, int64_t begin, int64_t count) {
  Image part = image;
  part.data = static_cast<float*>(image.data) + begin * image.strides[1];
  part.shape[1] = count;
  return part;
}

void convolve_exactly(KernelContext& c, const ConvolutionAttrs& a) {
  const size_t arrays = a.no_bias ? 2 : 3;
  const auto range = [&](size_t k) { return largest(number_of(c.input(k)), number_of(c.input(k + 1))); };
  const SumRange range_of_sums =
      sum_range(product_range(c.input(0).dtype, range(arrays), range(arrays + 2)), a.no_bias ? 0 : range(arrays + 4));
  write_range(c, -range_of_sums.high, range_of_sums.high);
  const Window w = window_of(c.name(), a);
  const Image result = image_of(c.output(0), w.channels_last),
              data = as_floats(c, image_of(c.input(0), w.channels_last)),
              weight = as_floats(c, image_of(c.input(1), w.channels_last));
  const Image part = floats_for(c, result);
  const Image sums{c.workspace<int32_t>(result.size()), DType::kInt32, part.shape, part.strides};
  auto* out = static_cast<int32_t*>(sums.data);
  std::fill_n(out, result.size(), 0);
  int64_t window = 1;
  for (int64_t extent : w.kernel) window *= extent;
  const int64_t step = std::max<int64_t>(1, exact_sums(c.input(0).dtype) / window);
  for (int64_t begin = 0; begin < data.shape[1] && result.size() > 0; begin += step) {
    const int64_t count = std::min(step, data.shape[1] - begin);
    convolve(c, {.window = w,
                 .data = channels_of(data, begin, count),
                 .weight = channels_of(weight, begin, count),
                 .out = part});
    add_wrapped(out, static_cast<const float*>(part.data), result.size());
  }
  scale_sums(out, range_of_sums.scale, result.size());
  if (!a.no_bias && result.size() > 0) {
    const auto* const bytes = static_cast<const int8_t*>(packed_data(c, c.input(2)));
    auto* const bias = c.workspace<int32_t>(a.num_filter);
    for (int64_t k = 0; k < a.num_filter; ++k)
      bias[k] = saturated<int32_t>(static_cast<float>(bytes[k]) * range_of_sums.bias);
    const int64_t images = result.shape[0];
    add_to_channels(out, bias, images, a.num_filter, result.size() / images / a.num_filter);
  }
  strided_copy(result.data, result.strides, sums.data, sums.strides, result.shape, DType::kInt32);
}

OpDef quantized_convolution() {
  const auto sample = [](bool no_bias) {
    std::vector<SampleArray> arrays{bytes({1, 2, 4, 4}, DType::kUint8), bytes({3, 2, 2, 2})};
    if (!no_bias) arrays.push_back(bytes({3}));
    for (size_t k = arrays.size(); k-- > 0;) arrays.insert(arrays.end(), {values({-1}), values({2})});
    return Sample(std::move(arrays),
                  make_attrs(ConvolutionAttrs{.kernel = {2, 2}, .num_filter = 3, .no_bias = no_bias}));
  };
  return general<ConvolutionAttrs>(
      {.name = "_contrib_quantized_conv",
       .python = {"nd.contrib.quantized_conv"},
       .doc = "Convolution of int8 or uint8 data with int8 weights: int32 sums and the range that they stand for. The "
              "int8 bias is brought to their range. Behind the arrays come the ends of their ranges. Raises MXNetError "
              "for "
              "arrays that do not fit and for groups.",
       .inputs = layer_inputs(),
       .optional_inputs = 7,
       .outputs = 3,
       .array_names = quantized_result_names(),
       .input_name = [](const ConvolutionAttrs& a, size_t i) { return layer_input(a.no_bias, i); },
       .input_count = [](const ConvolutionAttrs& a) -> size_t { return a.no_bias ? 6 : 9; },
       .complete =
           [](Completion& c, const ConvolutionAttrs& a) {
             if (c.is_known(0) && c.shape(0).size() == a.kernel.size() + 2) complete_convolution(c, a);
             if (!a.no_bias) c.set(2, Shape{a.num_filter});
             for (size_t k = a.no_bias ? 2 : 3; k < c.input_count(); ++k) c.set(k, Shape{1});
           },
       .result_dtype = quantized_dtypes(DType::kInt32),
       .infer = infer_convolution_of_bytes,
       .kernel = convolve_exactly,
       .quantization =
           quantized_layer([](const ConvolutionAttrs& a, size_t i) { return i == 1 || (i == 2 && !a.no_bias); }),
       .zero_gradient = true,
       .strided_inputs = true,
       .samples = {sample(false), sample(true)}});
}

void infer_pooling_of_bytes(Infer& i, const PoolingAttrs& a) {
  expect_quantized(i, 0);
  i.require(a.pool_type == "max" || a.pool_type == "avg", ErrorKind::kRuntime, "pool_type must be max or avg, got {}",
            a.pool_type);
  expect_numbers(i, 1);
  infer_pooling(i, a);
  for (int k = 0; k < 2; ++k) i.output(Shape{1}, DType::kFloat32);
}

bool pool_rounded(KernelContext& c, const PoolingProblem& p) {
  if (pool_bytes(c, p)) return true;
  PoolingProblem wide = p;
  wide.data = as_floats(c, p.data);
  wide.result = floats_for(c, p.result);
  pool(c, wide);
  write_rounded(c, wide.result, p.result);
  return true;
}

OpDef quantized_pooling() {
  return general<PoolingAttrs>(
      {.name = "_contrib_quantized_pooling",
       .python = {"nd.contrib.quantized_pooling"},
       .doc = "Pooling of int8 or uint8 data by maximum or average, which is rounded to the nearest number, with their "
              "range. Raises MXNetError for other dtypes and kinds.",
       .inputs = {"data", "min_data", "max_data"},
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete = ends_from(1),
       .result_dtype = dtypes_of_inputs,
       .infer = infer_pooling_of_bytes,
       .kernel =
           [](KernelContext& c, const PoolingAttrs& a) {
             run_pooling(c, a, pool_rounded);
             write_range(c, number_of(c.input(1)), number_of(c.input(2)));
           },
       .zero_gradient = true,
       .strided_inputs = true,
       .samples = {Sample({bytes({1, 2, 4, 4}), values({-1}), values({2})}, make_attrs(PoolingAttrs{.kernel = {2, 2}})),
                   Sample({bytes({1, 2, 4, 4}, DType::kUint8), values({0}), values({2})},
                          make_attrs(PoolingAttrs{.kernel = {2, 2}, .pool_type = "avg"}))}});
}

}  // namespace

Operators quantized_image_operators() { return {quantized_convolution(), quantized_pooling()}; }

}  // namespace headrace
