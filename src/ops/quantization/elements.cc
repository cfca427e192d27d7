// Operators on quantized arrays that go element by element, or move elements.

#include "base/check.h"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;

NDArray copied(const NDArray& array) { return call("_copy", {array}); }

struct SumAttrs {
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields =
      fields(field(&SumAttrs::min_calib_range, "min_calib_range", "Least value of the result; None: it is int32."),
             field(&SumAttrs::max_calib_range, "max_calib_range", "Largest value of the result; None: it is int32."));
  bool is_calibrated() const { return min_calib_range && max_calib_range; }
};

struct ProductAttrs {
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  bool enable_float_output = false;
  static constexpr auto kFields = fields(
      field(&ProductAttrs::min_calib_range, "min_calib_range", "Least value of the result; None: it is int32."),
      field(&ProductAttrs::max_calib_range, "max_calib_range", "Largest value of the result; None: it is int32."),
      field(&ProductAttrs::enable_float_output, "enable_float_output",
            "Whether the result is float32, without range."));
  bool is_calibrated() const { return min_calib_range && max_calib_range; }
};

constexpr size_t kLhsMin = 2;  // then lhs_max, rhs_min, rhs_max
const std::vector<std::string> kPair = {"lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max"};

std::vector<SampleArray> pair_sample() {
  return {bytes({2, 3}), bytes({2, 3}), values({-1}), values({1}), values({-2}), values({1})};
}

void expect_pair(const Infer& i) {
  for (size_t k : {0, 1}) expect_quantized(i, k);
  expect_shape(i, 1, i.shape(0));
  expect_numbers(i, kLhsMin);
}

void complete_pair(Completion& c, const Attrs& a) {
  for (size_t k : {size_t{0}, size_t{1}})
    if (c.is_known(k)) c.set(1 - k, c.shape(k));
  ends_from(kLhsMin)(c, a);
}

float range_at(const KernelContext& c, size_t first) {
  return largest(number_of(c.input(first)), number_of(c.input(first + 1)));
}

// The element of an int8 or uint8 array.
float byte_at(const Tensor& tensor, int64_t k) {
  return tensor.dtype == DType::kInt8 ? static_cast<float>(tensor.as<int8_t>()[k])
                                      : static_cast<float>(tensor.as<uint8_t>()[k]);
}

template <class F>
void write_elements(const Tensor& out, F&& value) {
  for (int64_t k = 0; k < out.size; ++k) {
    const float x = value(k);
    if (out.dtype == DType::kInt8)
      out.as<int8_t>()[k] = saturated<int8_t>(x);
    else if (out.dtype == DType::kUint8)
      out.as<uint8_t>()[k] = saturated<uint8_t>(x);
    else if (out.dtype == DType::kInt32)
      out.as<int32_t>()[k] = saturated<int32_t>(x);
    else
      out.as<float>()[k] = x;
  }
}

void add(KernelContext& c, const SumAttrs& a) {
  const Tensor &x = c.input(0), &y = c.input(1), &out = c.output(0);
  const float of_x = range_at(c, kLhsMin), of_y = range_at(c, kLhsMin + 2);
  float low = -(of_x + of_y), high = of_x + of_y, unit = kInt32Range / high;
  if (a.is_calibrated()) {
    low = static_cast<float>(*a.min_calib_range);
    high = static_cast<float>(*a.max_calib_range);
    unit = quantizing_scale(out.dtype, low, high);
  }
  float scale_x = unit * of_x / quantized_range(x.dtype), scale_y = unit * of_y / quantized_range(y.dtype);
  const bool is_mixed = x.dtype != y.dtype && a.is_calibrated();
  // Of two dtypes the uint8 part is rounded to int8 by itself, as oneDNN does it for MXNet.
  const auto part = [is_mixed](const Tensor& from, int64_t k, float scale) {
    const float value = byte_at(from, k) * scale;
    return is_mixed && from.dtype == DType::kUint8 ? static_cast<float>(saturated<int8_t>(value)) : value;
  };
  write_elements(out, [&](int64_t k) { return part(x, k, scale_x) + part(y, k, scale_y); });
  write_range(c, low, high);
}

DType common_dtype(DType a, DType b) { return a == b ? a : DType::kInt8; }

OpDef quantized_add() {
  return general<SumAttrs>(
      {.name = "_contrib_quantized_elemwise_add",
       .python = {"nd.contrib.quantized_elemwise_add"},
       .doc =
           "The sum of two quantized arrays of one shape as int32, and its range; with a range given, in the dtype of "
           "the inputs, int8 where they differ. Raises MXNetError for other dtypes.",
       .inputs = kPair,
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete = complete_pair,
       .result_dtype =
           [](std::span<const DType> inputs, const SumAttrs& a, size_t k) {
             return k > 0 ? DType::kFloat32 : a.is_calibrated() ? common_dtype(inputs[0], inputs[1]) : DType::kInt32;
           },
       .infer =
           [](Infer& i, const SumAttrs& a) {
             expect_pair(i);
             quantized_outputs(i, i.shape(0), a.is_calibrated() ? common_dtype(i.dtype(0), i.dtype(1)) : DType::kInt32);
           },
       .kernel = add,
       .quantization = quantization({.makes_sums = true}),
       .samples = {Sample(pair_sample()),
                   Sample(pair_sample(), make_attrs(SumAttrs{.min_calib_range = -2, .max_calib_range = 1}))}});
}

void multiply(KernelContext& c, const ProductAttrs& a) {
  const Tensor &x = c.input(0), &y = c.input(1), &out = c.output(0);
  const float of_x = range_at(c, kLhsMin), of_y = range_at(c, kLhsMin + 2);
  const float unit = of_x / quantized_range(x.dtype) * (of_y / quantized_range(y.dtype));
  float high = of_x / whole_range(x.dtype) * (of_y / whole_range(y.dtype)) * kInt32Range, low = -high, scale = 1;
  if (a.enable_float_output) {
    scale = unit;
  } else if (a.is_calibrated()) {
    low = static_cast<float>(*a.min_calib_range);
    high = static_cast<float>(*a.max_calib_range);
    scale = quantizing_scale(out.dtype, low, high) * unit;
  }
  // Towards zero, as MXNet converts.
  write_elements(out, [&](int64_t k) {
    const float value = byte_at(x, k) * byte_at(y, k) * scale;
    return a.enable_float_output ? value : std::trunc(value);
  });
  if (!a.enable_float_output) write_range(c, low, high);
}

DType product_dtype(const ProductAttrs& a) {
  if (a.enable_float_output) return DType::kFloat32;
  return a.is_calibrated() ? DType::kInt8 : DType::kInt32;
}

OpDef quantized_multiply() {
  return general<ProductAttrs>(
      {.name = "_contrib_quantized_elemwise_mul",
       .python = {"nd.contrib.quantized_elemwise_mul"},
       .doc = "The product of two quantized arrays of one shape as int32, and its range; with a range given, as int8; "
              "or as "
              "float32 alone. Raises MXNetError for other dtypes.",
       .inputs = kPair,
       .outputs = 3,
       .output_count = [](const ProductAttrs& a) -> size_t { return a.enable_float_output ? 1 : 3; },
       .array_names = quantized_result_names(),
       .complete = complete_pair,
       .result_dtype = [](std::span<const DType>, const ProductAttrs& a,
                          size_t k) { return k > 0 ? DType::kFloat32 : product_dtype(a); },
       .infer =
           [](Infer& i, const ProductAttrs& a) {
             expect_pair(i);
             if (a.enable_float_output) return i.output(i.shape(0), product_dtype(a));
             quantized_outputs(i, i.shape(0), product_dtype(a));
           },
       .kernel = multiply,
       .quantization = quantization({.makes_sums = true}),
       .zero_gradient = true,
       .samples = {Sample(pair_sample()),
                   Sample(pair_sample(), make_attrs(ProductAttrs{.enable_float_output = true}))}});
}

struct ActivationAttrs {
  std::string act_type;
  static constexpr auto kFields =
      fields(field(&ActivationAttrs::act_type, "act_type", "The function.").required().one_of("relu"));
};

const std::vector<std::string> kOne = {"data", "min_data", "max_data"};

void check_one(Arrays in, const char* name) {
  check(in[0].dtype() == DType::kInt8 || in[0].dtype() == DType::kUint8, ErrorKind::kRuntime,
        "{}: data must hold int8 or uint8, got {}", name, dtype_name(in[0].dtype()));
}

OpDef quantized_activation() {
  return general<ActivationAttrs>(
      {.name = "_contrib_quantized_act",
       .python = {"nd.contrib.quantized_act"},
       .doc = "relu of quantized data, with their range. Raises MXNetError for other dtypes.",
       .inputs = kOne,
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete = ends_from(1),
       .result_dtype = dtypes_of_inputs,
       .compose = [](Arrays in, const ActivationAttrs&) -> std::vector<NDArray> {
         check_one(in, "quantized_act");
         return {call("relu", {in[0]}), copied(in[1]), copied(in[2])};
       },
       .samples = {Sample({bytes({2, 3}), values({-1}), values({1})}, make_attrs(ActivationAttrs{"relu"}))}});
}

OpDef quantized_flatten() {
  return general({.name = "_contrib_quantized_flatten",
                  .python = {"nd.contrib.quantized_flatten"},
                  .doc =
                      "Quantized data with all axes behind the first as one, with their range. Raises MXNetError for "
                      "other dtypes.",
                  .inputs = kOne,
                  .outputs = 3,
                  .array_names = quantized_result_names(),
                  .complete = ends_from(1),
                  .result_dtype = dtypes_of_inputs,
                  .compose = [](Arrays in, const NoAttrs&) -> std::vector<NDArray> {
                    check_one(in, "quantized_flatten");
                    return {call("Flatten", {in[0]}), copied(in[1]), copied(in[2])};
                  },
                  .samples = {Sample({bytes({2, 3, 2}), values({-1}), values({1})})}});
}

struct EmbeddingAttrs {
  int64_t input_dim = 0, output_dim = 0;
  DType dtype = DType::kFloat32;
  bool sparse_grad = false;
  static constexpr auto kFields = fields(
      field(&EmbeddingAttrs::input_dim, "input_dim", "Number of rows of the table.").required().between(1, kMostInt),
      field(&EmbeddingAttrs::output_dim, "output_dim", "Length of each row.").required().between(1, kMostInt),
      field(&EmbeddingAttrs::dtype, "dtype", "Ignored; symbol files carry it."),
      field(&EmbeddingAttrs::sparse_grad, "sparse_grad", "Ignored; symbol files carry it."));
};

OpDef quantized_embedding() {
  return general<EmbeddingAttrs>(
      {.name = "_contrib_quantized_embedding",
       .python = {"nd.contrib.quantized_embedding"},
       .doc = "Rows of an int8 table (input_dim, output_dim), with its range. Indices out of range are clipped to the "
              "ends. Raises MXNetError for other dtypes, ValueError for a table of another shape.",
       .inputs = {"data", "weight", "min_weight", "max_weight"},
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete =
           [](Completion& c, const EmbeddingAttrs& a) {
             c.set(1, Shape{a.input_dim, a.output_dim});
             for (size_t k : {2, 3}) c.set(k, Shape{1});
           },
       .result_dtype = [](std::span<const DType> inputs, const EmbeddingAttrs&, size_t k) { return inputs[k + 1]; },
       .compose = [](Arrays in, const EmbeddingAttrs& a) -> std::vector<NDArray> {
         check(in[1].dtype() == DType::kInt8, ErrorKind::kRuntime, "quantized_embedding: weight must hold int8, got {}",
               dtype_name(in[1].dtype()));
         return {call("Embedding", {in[0], in[1]}, {{"input_dim", a.input_dim}, {"output_dim", a.output_dim}}),
                 copied(in[2]), copied(in[3])};
       },
       .quantization = quantization({.holds_int8 = [](const EmbeddingAttrs&, size_t i) { return i == 1; }}),
       .samples = {Sample({values({0, 2, 5}), bytes({3, 2}), values({-1}), values({1})},
                          make_attrs(EmbeddingAttrs{.input_dim = 3, .output_dim = 2}))}});
}

}  // namespace

Operators quantized_element_operators() {
  return {quantized_add(), quantized_multiply(), quantized_activation(), quantized_flatten(), quantized_embedding()};
}

}  // namespace headrace
