// Layers on bytes that give bytes or floats at once, with all that belongs to the layer: what quantized graphs hold in
// the place of layers that were put together.

#include <cmath>

#include "base/check.h"
#include "op/expect.h"
#include "op/invoke.h"
#include "ops/convolution/convolution_rules.h"
#include "ops/convolution/fused_convolution.h"
#include "ops/linalg/matrix.h"
#include "ops/quantization/byte_convolution.h"
#include "ops/quantization/byte_images.h"
#include "ops/quantization/byte_rows.h"
#include "ops/quantization/dense.h"
#include "ops/quantization/layers.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

// What both kinds of layers say about ranges. Results behind relu are uint8, others int8.
struct ByteRanges {
  bool float_output = false, rowwise = false, float_weight = false;
  double weight_range = 127;
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  size_t weight_ends() const noexcept { return float_weight ? 0 : 2; }
};

template <class A>
constexpr auto range_fields() {
  return fields(field(&A::float_output, "float_output", "Whether the result is float32, without range."),
                field(&A::rowwise, "rowwise", "Whether each row of the weight has a range of its own."),
                field(&A::float_weight, "float_weight",
                      "Whether the weight comes as float32, without range, each row to be rounded to int8 of its own."),
                field(&A::weight_range, "weight_range", "Which int8 number of a weight the end of its range is."),
                field(&A::min_calib_range, "min_calib_range", "Least value of the result; None: each run finds it."),
                field(&A::max_calib_range, "max_calib_range", "Largest value of the result; None: likewise."));
}

struct ByteConvolutionAttrs : FusedConvolutionAttrs, ByteRanges {
  static constexpr auto kFields = std::tuple_cat(FusedConvolutionAttrs::kFields, range_fields<ByteConvolutionAttrs>());
  size_t arrays() const { return 2 + !no_bias + further(); }
  size_t sum_ends() const { return arrays() + 2 + weight_ends(); }
  size_t inputs() const { return sum_ends() + (with_sum ? 2 : 0); }
};

struct FusedDenseAttrs : DenseAttrs {
  std::string activation = {};
  static constexpr auto kFields = std::tuple_cat(
      DenseAttrs::kFields,
      fields(field(&FusedDenseAttrs::activation, "activation", "'relu', or '' for none.").one_of("|relu")));
};

struct ByteDenseAttrs : FusedDenseAttrs, ByteRanges {
  static constexpr auto kFields = std::tuple_cat(FusedDenseAttrs::kFields, range_fields<ByteDenseAttrs>());
  size_t arrays() const { return no_bias ? 2 : 3; }
  size_t inputs() const { return arrays() + 2 + weight_ends(); }
};

template <class A>
DType result_dtype_of(const A& a) {
  return a.float_output ? DType::kFloat32 : a.activation == "relu" ? DType::kUint8 : DType::kInt8;
}

// --- ranges ----------------------------------------------------------------------------------------------------------

// What one step of the bytes of input `k` is worth.
float unit_of(const KernelContext& c, size_t k, size_t ends) {
  check(c.input(k).dtype != DType::kUint8 || number_of(c.input(ends)) >= 0, ErrorKind::kValue,
        "{}: input {} is quantized as uint8, which has no negative numbers, but its range begins at {}; quantize with "
        "int8 or auto",
        c.name(), k, number_of(c.input(ends)));
  return largest(number_of(c.input(ends)), number_of(c.input(ends + 1))) / quantized_range(c.input(k).dtype);
}

const float* packed_floats(KernelContext& c, size_t k) { return static_cast<const float*>(packed_data(c, c.input(k))); }

struct Factors {
  float* scale;
  float* shift;
  float addend = 1;
};

// The weight as bytes, with what the number 1 of each row stands for. Its ends, where it has some, are the inputs from
// `ends` on.
ByteRows weight_of(KernelContext& c, const ByteRanges& a, const Image& given, size_t ends) {
  if (a.float_weight) return byte_rows(c, given);
  const int64_t rows = given.shape[0], step = c.input(ends).size == 1 ? 0 : 1;
  const float *low = packed_floats(c, ends), *high = packed_floats(c, ends + 1);
  auto* unit = c.workspace<float>(rows);
  for (int64_t k = 0; k < rows; ++k)
    unit[k] = largest(low[k * step], high[k * step]) / static_cast<float>(a.weight_range);
  return {given, unit};
}

// Of sums of products of bytes, those of the data being worth `unit`: to floats, then the factor and summand of each
// channel that follow.
Factors factors_of(KernelContext& c, float unit, const ByteRows& weight, const float* bias, const float* scale,
                   const float* shift) {
  const int64_t channels = weight.bytes.shape[0];
  Factors f{c.workspace<float>(channels), c.workspace<float>(channels)};
  for (int64_t k = 0; k < channels; ++k) {
    f.scale[k] = unit * weight.unit[k] * (scale ? scale[k] : 1);
    f.shift[k] = (bias ? bias[k] : 0) * (scale ? scale[k] : 1) + (shift ? shift[k] : 0);
  }
  return f;
}

// Runs a layer whose result is known to lie in a range, or finds that.
void run(KernelContext& c, ByteConvolution p, const ByteRanges& a, Factors f, int64_t channels) {
  const DType dtype = p.out.dtype;
  const auto finish = [&](float low, float high) { write_range(c, dtype == DType::kUint8 ? 0 : low, high); };
  if (dtype != DType::kFloat32 && a.min_calib_range && a.max_calib_range) {
    const float range = largest(static_cast<float>(*a.min_calib_range), static_cast<float>(*a.max_calib_range));
    const float steps = range == 0 ? 0 : quantized_range(dtype) / range;
    for (int64_t k = 0; k < channels; ++k) {
      f.scale[k] *= steps;
      f.shift[k] *= steps;
    }
    p.addend_scale = f.addend * steps;
    p.scale = f.scale;
    p.shift = f.shift;
    convolve_bytes(c, p);
    return finish(-range, range);
  }
  p.addend_scale = f.addend;
  p.scale = f.scale;
  p.shift = f.shift;
  if (dtype == DType::kFloat32) return convolve_bytes(c, p);
  const Image out = p.out;
  p.out = floats_for(c, out);
  convolve_bytes(c, p);
  const Tensor found{p.out.data, DType::kFloat32, p.out.shape, p.out.strides, p.out.size()};
  const auto [low, high] = extremes_of(found);
  const float range = largest(low, high);
  rescale(found, range == 0 ? 0 : quantized_range(dtype) / range, 0, found);
  write_rounded(c, p.out, out);
  finish(-range, range);
}

// Whether input k has an end for each row of the weight.
template <class A>
bool is_of_rows_of(const A& a, size_t k) {
  return a.rowwise && !a.float_weight && (k == a.arrays() + 2 || k == a.arrays() + 3);
}

// Refuses inputs behind the arrays that are no ends of ranges.
template <class A>
void expect_ends(const Infer& i, const A& a, int64_t channels) {
  const size_t ends = a.arrays();
  for (size_t k = ends; k < i.input_count(); ++k) {
    const bool is_of_rows = is_of_rows_of(a, k);
    i.require(i.dtype(k) == DType::kFloat32 && i.size(k) == (is_of_rows ? channels : 1), ErrorKind::kRuntime,
              "input {} must hold {} float32, {} of a range; got {} of shape {}", k, is_of_rows ? channels : 1,
              is_of_rows ? "the ends" : "the end", dtype_name(i.dtype(k)), to_string(i.shape(k)));
  }
}

template <class A>
void complete_ends(Completion& c, const A& a, int64_t channels) {
  const size_t ends = a.arrays();
  for (size_t k = ends; k < c.input_count(); ++k) c.set(k, Shape{is_of_rows_of(a, k) ? channels : 1});
}

template <class A>
void expect_count(const Infer& i, const A& a) {
  i.require(i.input_count() == a.inputs(), ErrorKind::kType, "{} arrays are needed with no_bias={}, got {}", a.inputs(),
            a.no_bias, i.input_count());
  expect_quantized(i, 0);
  const DType wanted = a.float_weight ? DType::kFloat32 : DType::kInt8;
  i.require(i.dtype(1) == wanted, ErrorKind::kRuntime, "weight must hold {}, got {}", dtype_name(wanted),
            dtype_name(i.dtype(1)));
  i.require(a.weight_range > 0, ErrorKind::kValue, "weight_range must be positive, got {}", a.weight_range);
}

template <class A>
DType dtype_of_output(std::span<const DType>, const A& a, size_t k) {
  return k == 0 ? result_dtype_of(a) : DType::kFloat32;
}

// --- convolution -----------------------------------------------------------------------------------------------------

void infer_byte_convolution(Infer& i, const ByteConvolutionAttrs& a) {
  expect_count(i, a);
  const Window w = window_of(i.name(), a);
  require_rank(i.name(), w, i.shape(0));
  const Shape data = channels_second(i.shape(0), w.channels_last);
  i.require(data[1] % w.groups == 0 && a.num_filter % w.groups == 0, ErrorKind::kRuntime,
            "channels of data and num_filter must be multiples of num_group={}, got {} channels and num_filter={}",
            w.groups, data[1], a.num_filter);
  const Shape weight = weight_shape(w, a.num_filter, data[1]);
  require_shape(i, 1, "weight", weight, w.channels_last);
  const Shape out = convolved_shape(i, w, data, a.num_filter);
  const size_t further = a.arrays() - (a.with_sum ? 1 : 0);
  for (size_t k = 2; k < further; ++k) expect_type(i, k, Shape{a.num_filter}, DType::kFloat32);
  if (a.with_sum) {
    require_shape(i, further, "sum", out, w.channels_last);
    expect_quantized(i, further);
  }
  expect_ends(i, a, a.num_filter);
  output_image(i, out, result_dtype_of(a), w.channels_last);
  for (int k = 0; k < 2 && !a.float_output; ++k) i.output(Shape{1}, DType::kFloat32);
  set_convolution_cost(i, weight, out, 1);
}

void run_byte_convolution(KernelContext& c, const ByteConvolutionAttrs& a) {
  const Window w = window_of(c.name(), a);
  ByteConvolution p{.window = w};
  p.data = image_of(c.input(0), w.channels_last);
  const size_t ends = a.arrays();
  const ByteRows weight = weight_of(c, a, image_of(c.input(1), w.channels_last), ends + 2);
  p.weight = weight.bytes;
  p.out = image_of(c.output(0), w.channels_last);
  p.relu = a.activation == "relu";
  size_t next = 2;
  const auto numbers = [&](bool is_there) { return is_there ? packed_floats(c, next++) : nullptr; };
  const float* bias = numbers(!a.no_bias);
  const float* scale = numbers(a.with_scale);
  const float* shift = numbers(a.with_scale);
  Factors f = factors_of(c, unit_of(c, 0, ends), weight, bias, scale, shift);
  if (a.with_sum) {
    p.addend = image_of(c.input(next), w.channels_last);
    f.addend = unit_of(c, next, a.sum_ends());
  }
  run(c, std::move(p), a, f, a.num_filter);
}

OpDef byte_convolution() {
  ByteConvolutionAttrs with_all;
  with_all.kernel = {3, 3};
  with_all.num_filter = 4;
  with_all.with_scale = with_all.with_sum = with_all.rowwise = true;
  with_all.activation = "relu";
  with_all.max_calib_range = 2;
  with_all.min_calib_range = 0;
  ByteConvolutionAttrs plain;
  plain.kernel = {2, 2};
  plain.num_filter = 2;
  plain.no_bias = plain.float_output = true;
  ByteConvolutionAttrs of_floats = plain;
  of_floats.float_weight = true;
  const auto bytes = [](Shape shape, DType dtype) {
    return integers(std::move(shape), dtype == DType::kInt8 ? -127 : 0, dtype == DType::kInt8 ? 128 : 256, dtype);
  };
  return general<ByteConvolutionAttrs>(
      {.name = "_byte_convolution",
       .doc =
           "Convolution of int8 or uint8 data with weights of int8 or rounded to it, scaled and shifted by channel, "
           "plus a sum, then an activation, as bytes of a range given or found, or as float32. Bias, scale and shift "
           "hold float32. Behind the arrays come the ends of the ranges of data, weight and sum.",
       .inputs = {"data", "weight", "bias", "scale", "shift", "sum", "min_data", "max_data", "min_weight", "max_weight",
                  "min_sum", "max_sum"},
       .optional_inputs = 10,
       .outputs = 3,
       .output_count = [](const ByteConvolutionAttrs& a) -> size_t { return a.float_output ? 1 : 3; },
       .array_names = {.outputs = {"output", "min_output", "max_output"}},
       .input_count = [](const ByteConvolutionAttrs& a) { return a.inputs(); },
       .complete =
           [](Completion& c, const ByteConvolutionAttrs& a) {
             complete_convolution(c, a);
             if (a.with_scale)
               for (size_t k = a.no_bias ? 2 : 3; k < a.arrays() - (a.with_sum ? 1 : 0); ++k)
                 c.set(k, Shape{a.num_filter});
             complete_ends(c, a, a.num_filter);
           },
       .result_dtype = dtype_of_output<ByteConvolutionAttrs>,
       .infer = infer_byte_convolution,
       .kernel = run_byte_convolution,
       .quantization = quantization(
           {.calibrated = Quantization::Calibrated::kResult,
            .holds_int8 = [](const ByteConvolutionAttrs& a, size_t i) { return i == 1 && !a.float_weight; }}),
       .zero_gradient = true,
       .strided_inputs = true,
       .samples = {Sample({bytes({1, 2, 5, 5}, DType::kUint8), bytes({4, 2, 3, 3}, DType::kInt8), uniform({4}),
                           uniform({4}), uniform({4}), bytes({1, 4, 3, 3}, DType::kInt8), values({0}), values({2}),
                           values({-1, -1, -2, -1}), values({1, 1, 2, 1}), values({-1}), values({1})},
                          make_attrs(with_all)),
                   Sample({bytes({1, 2, 3, 3}, DType::kInt8), bytes({2, 2, 2, 2}, DType::kInt8), values({-1}),
                           values({1}), values({-1}), values({2})},
                          make_attrs(plain)),
                   Sample({bytes({1, 2, 3, 3}, DType::kInt8), uniform({2, 2, 2, 2}), values({-1}), values({1})},
                          make_attrs(of_floats))}});
}

// --- dense layers ----------------------------------------------------------------------------------------------------

Shape dense_result(const Shape& data, const FusedDenseAttrs& a) {
  Shape result = a.flatten ? Shape{data[0]} : Shape(data.begin(), data.end() - 1);
  result.push_back(a.num_hidden);
  return result;
}

void complete_dense(Completion& c, const FusedDenseAttrs& a) {
  if (c.is_known(0) && c.shape(0).size() >= 2) {
    c.set(1, Shape{a.num_hidden, matrix_of(c.shape(0), a.flatten).second});
    c.set_output(0, dense_result(c.shape(0), a));
  }
  if (!a.no_bias) c.set(2, Shape{a.num_hidden});
}

void infer_byte_dense(Infer& i, const ByteDenseAttrs& a) {
  expect_count(i, a);
  const Shape& data = i.shape(0);
  i.require(data.size() >= 2, ErrorKind::kRuntime, "data with at least 2 axes are needed, got shape {}",
            to_string(data));
  const auto [rows, columns] = matrix_of(data, a.flatten);
  expect_type(i, 1, Shape{a.num_hidden, columns}, i.dtype(1));
  if (!a.no_bias) expect_type(i, 2, Shape{a.num_hidden}, DType::kFloat32);
  expect_ends(i, a, a.num_hidden);
  const Shape result = dense_result(data, a);
  i.output(result, result_dtype_of(a));
  for (int k = 0; k < 2 && !a.float_output; ++k) i.output(Shape{1}, DType::kFloat32);
  i.cost(convolution_cost(DType::kFloat32, Shape{a.num_hidden, columns, 1}, Shape{rows, a.num_hidden, 1}));
}

// As a convolution over images of one element.
void run_byte_dense(KernelContext& c, const ByteDenseAttrs& a) {
  const Window w{.kernel = {1}, .stride = {1}, .dilate = {1}, .pad = {0}};
  const int64_t columns = c.input(1).shape[1], rows = c.output(0).size / a.num_hidden;
  const auto image = [](const Tensor& tensor, int64_t first, int64_t second) {
    return Image{tensor.data, tensor.dtype, {first, second, 1}, {second, 1, 1}, tensor.storage};
  };
  ByteConvolution p{.window = w};
  p.data = image(c.input(0), rows, columns);
  const ByteRows weight = weight_of(c, a, image(c.input(1), a.num_hidden, columns), a.arrays() + 2);
  p.weight = weight.bytes;
  p.out = image(c.output(0), rows, a.num_hidden);
  p.relu = a.activation == "relu";
  const float* bias = a.no_bias ? nullptr : c.input(2).as<const float>();
  run(c, std::move(p), a, factors_of(c, unit_of(c, 0, a.arrays()), weight, bias, nullptr, nullptr), a.num_hidden);
}

OpDef byte_dense() {
  ByteDenseAttrs sample;
  sample.num_hidden = 4;
  sample.activation = "relu";
  ByteDenseAttrs of_floats = sample;
  of_floats.float_weight = true;
  return general<ByteDenseAttrs>(
      {.name = "_byte_dense",
       .doc = "FullyConnected of int8 or uint8 data with weights of int8 or rounded to it and float32 bias, then an "
              "activation, as bytes of a range given or found, or as float32. Behind the arrays come the ends of the "
              "ranges "
              "of data and weight.",
       .inputs = {"data", "weight", "bias", "min_data", "max_data", "min_weight", "max_weight"},
       .optional_inputs = 5,
       .outputs = 3,
       .output_count = [](const ByteDenseAttrs& a) -> size_t { return a.float_output ? 1 : 3; },
       .array_names = {.outputs = {"output", "min_output", "max_output"}},
       .input_name = [](const ByteDenseAttrs& a, size_t i) -> std::string {
         static constexpr std::array<const char*, 4> kEnds = {"min_data", "max_data", "min_weight", "max_weight"};
         return a.no_bias && i >= 2 && i < 6 ? kEnds[i - 2] : "";
       },
       .input_count = [](const ByteDenseAttrs& a) { return a.inputs(); },
       .complete =
           [](Completion& c, const ByteDenseAttrs& a) {
             complete_dense(c, a);
             complete_ends(c, a, a.num_hidden);
           },
       .result_dtype = dtype_of_output<ByteDenseAttrs>,
       .infer = infer_byte_dense,
       .kernel = run_byte_dense,
       .quantization =
           quantization({.calibrated = Quantization::Calibrated::kResult,
                         .holds_int8 = [](const ByteDenseAttrs& a, size_t i) { return i == 1 && !a.float_weight; }}),
       .zero_gradient = true,
       .samples = {Sample({integers({2, 3}, 0, 256, DType::kUint8), integers({4, 3}, -127, 128, DType::kInt8),
                           uniform({4}), values({0}), values({2}), values({-1}), values({1})},
                          make_attrs(sample)),
                   Sample({integers({2, 3}, 0, 256, DType::kUint8), uniform({4, 3}), uniform({4}), values({0}),
                           values({2})},
                          make_attrs(of_floats))}});
}

// FullyConnected and an activation: what quantization makes a layer on bytes of.
OpDef fused_dense() {
  FusedDenseAttrs fused;
  fused.num_hidden = 4;
  fused.activation = "relu";
  return general<FusedDenseAttrs>(
      {.name = "_fused_dense",
       .doc = "FullyConnected, then an activation.",
       .inputs = {"data", "weight", "bias"},
       .optional_inputs = 1,
       .input_count = [](const FusedDenseAttrs& a) -> size_t { return a.no_bias ? 2 : 3; },
       .complete = complete_dense,
       .compose = [](std::span<const NDArray> in, const FusedDenseAttrs& a) -> std::vector<NDArray> {
         const OpDef& op = find_op("FullyConnected");
         const AttrsPtr attrs =
             attrs_of(op, {{"num_hidden", a.num_hidden}, {"no_bias", a.no_bias}, {"flatten", a.flatten}});
         NDArray result = invoke_all(op, attrs, in)[0];
         return {a.activation == "relu" ? call("relu", {result}) : result};
       },
       .quantization = quantization({.becomes = "_byte_dense",
                                     .is_worthwhile = true,
                                     .keeps_input = [](const FusedDenseAttrs&, size_t i, size_t) { return i == 2; },
                                     .has_rowwise_weight = true,
                                     .float_attribute = "float_output"}),
       .samples = {Sample({uniform({2, 3}), uniform({4, 3}), uniform({4})}, make_attrs(fused))}});
}

}  // namespace

Operators byte_layer_operators() { return {byte_convolution(), byte_dense(), fused_dense()}; }

}  // namespace headrace
