// A dense layer on int8 as MXNet's operators of the library intgemm give it: largest value, quantized data and weights,
// products.

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/result_dtype.h"
#include "ops/families.h"
#include "ops/linalg/gemm.h"
#include "ops/quantization/products.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

std::vector<std::string> shown_as(const std::string& name) { return {"nd.contrib." + name, "npx." + name}; }

float largest_of(const Tensor& data) {
  const auto [low, high] = extremes_of(data);
  return largest(low, high);
}

// The nearest number of -127 to 127.
float quantized_number(float x, float multiplier) { return std::max<float>(saturated<int8_t>(x * multiplier), -127); }

// Numbers of which `most` becomes 127.
template <class T>
void quantize_to(const Tensor& data, float most, T* out) {
  const auto multiplier = static_cast<float>(127.0 / static_cast<double>(most));
  const auto* x = data.as<const float>();
  parallel_for(data.size, 4096, 2.0 * static_cast<double>(data.size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(quantized_number(x[i], multiplier));
  });
}

OpDef max_absolute() {
  return general(
      {.name = "_contrib_intgemm_maxabsolute",
       .aliases = {"_npx_intgemm_maxabsolute"},
       .python = shown_as("intgemm_maxabsolute"),
       .doc = "The largest absolute value of float32 data, as an array of one. Raises MXNetError for other dtypes.",
       .complete = [](Completion& c, const NoAttrs&) { c.set_output(0, {1}); },
       .infer =
           [](Infer& i, const NoAttrs&) {
             expect_type(i, 0, i.shape(0), DType::kFloat32);
             i.output({1}, DType::kFloat32);
           },
       .kernel = [](KernelContext& c, const NoAttrs&) { *c.output(0).as<float>() = largest_of(c.input(0)); },
       .samples = {uniform({2, 3}), values({-3, 1})}});
}

OpDef prepare_data() {
  return general(
      {.name = "_contrib_intgemm_prepare_data",
       .aliases = {"_npx_intgemm_prepare_data"},
       .python = shown_as("intgemm_prepare_data"),
       .doc = "float32 data as int8: maxabs, an array of one, becomes 127 and what is beyond it as well; -128 does not "
              "occur. Rounds to the nearest number, even of two. The gradient is zero. Raises MXNetError for other "
              "dtypes.",
       .inputs = {"data", "maxabs"},
       .complete = ends_from(1),
       .result_dtype = result_dtypes::always(DType::kInt8),
       .infer =
           [](Infer& i, const NoAttrs&) {
             expect_type(i, 0, i.shape(0), DType::kFloat32);
             expect_numbers(i, 1);
             i.output(i.shape(0), DType::kInt8);
           },
       .kernel = [](KernelContext& c,
                    const NoAttrs&) { quantize_to(c.input(0), number_of(c.input(1)), c.output(0).as<int8_t>()); },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3}), values({1.5})})}});
}

// --- weights, which lie in memory as they are given -----------------------------------------------------------------

struct WeightAttrs {
  bool already_quantized = false;
  static constexpr auto kFields =
      fields(field(&WeightAttrs::already_quantized, "already_quantized", "Whether the weight holds int8."));
};

OpDef prepare_weight() {
  return general<WeightAttrs>(
      {.name = "_contrib_intgemm_prepare_weight",
       .aliases = {"_npx_intgemm_prepare_weight"},
       .python = shown_as("intgemm_prepare_weight"),
       .doc = "A weight (outputs, inputs) for intgemm_fully_connected: int8, of which maxabs becomes 127. With "
              "already_quantized it holds int8 that intgemm_prepare_data made, and there is no maxabs. The gradient is "
              "zero. Raises MXNetError for other dtypes.",
       .inputs = {"weight", "maxabs"},
       .optional_inputs = 1,
       .input_count = [](const WeightAttrs& a) -> size_t { return a.already_quantized ? 1 : 2; },
       .complete =
           [](Completion& c, const WeightAttrs& a) {
             c.set_equal(0);
             if (!a.already_quantized) c.set(1, {1});
           },
       .result_dtype = result_dtypes::always(DType::kInt8),
       .infer =
           [](Infer& i, const WeightAttrs& a) {
             i.require(i.input_count() == (a.already_quantized ? 1 : 2), ErrorKind::kType,
                       "{} needed with already_quantized={}, got {} arrays",
                       a.already_quantized ? "the weight alone is" : "weight and maxabs are", a.already_quantized,
                       i.input_count());
             expect_type(i, 0, i.shape(0), a.already_quantized ? DType::kInt8 : DType::kFloat32);
             if (!a.already_quantized) expect_numbers(i, 1);
             i.output(i.shape(0), DType::kInt8);
           },
       .kernel =
           [](KernelContext& c, const WeightAttrs& a) {
             auto* out = c.output(0).as<int8_t>();
             if (a.already_quantized)
               std::copy_n(c.input(0).as<const int8_t>(), c.input(0).size, out);
             else
               quantize_to(c.input(0), number_of(c.input(1)), out);
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({8, 64}), values({1.5})}),
                   Sample({integers({8, 64}, -127, 128, DType::kInt8)},
                          make_attrs(WeightAttrs{.already_quantized = true}))}});
}

OpDef take_weight() {
  return general(
      {.name = "_contrib_intgemm_take_weight",
       .aliases = {"_npx_intgemm_take_weight"},
       .python = shown_as("intgemm_take_weight"),
       .doc = "The rows of a prepared weight (outputs, inputs) with the given numbers, an int32 vector. Raises "
              "MXNetError for other dtypes, IndexError, when the result is read, for a row that there is not.",
       .inputs = {"weight", "indices"},
       .result_dtype = result_dtypes::always(DType::kInt8),
       .infer =
           [](Infer& i, const NoAttrs&) {
             i.require(i.shape(0).size() == 2 && i.shape(1).size() == 1, ErrorKind::kRuntime,
                       "a weight (outputs, inputs) and a vector of numbers are needed, got shapes {} and {}",
                       to_string(i.shape(0)), to_string(i.shape(1)));
             expect_type(i, 0, i.shape(0), DType::kInt8);
             expect_type(i, 1, i.shape(1), DType::kInt32);
             i.output({i.shape(1)[0], i.shape(0)[1]}, DType::kInt8);
           },
       .kernel =
           [](KernelContext& c, const NoAttrs&) {
             const Tensor& weight = c.input(0);
             const int64_t rows = weight.shape[0], width = weight.shape[1];
             for (int64_t k = 0; k < c.input(1).size; ++k) {
               const int64_t row = c.input(1).as<const int32_t>()[k];
               check(row >= 0 && row < rows, ErrorKind::kIndex, "{}: row {} of a weight of {} rows is asked for",
                     c.name(), row, rows);
               std::copy_n(weight.as<const int8_t>() + row * width, width, c.output(0).as<int8_t>() + k * width);
             }
           },
       .samples = {Sample({integers({8, 4}, -127, 128, DType::kInt8), integers({8}, 0, 8)})}});
}

// --- the layer ------------------------------------------------------------------------------------------------------

struct IntgemmAttrs {
  int64_t num_hidden = 0;
  bool no_bias = false, flatten = true;
  std::string out_type = "float32";
  static constexpr auto kFields = fields(
      field(&IntgemmAttrs::num_hidden, "num_hidden", "Number of outputs per row.").required().between(1, kMostInt),
      field(&IntgemmAttrs::no_bias, "no_bias", "Whether there is no bias."),
      field(&IntgemmAttrs::flatten, "flatten",
            "Whether all axes of data but the first are one; otherwise the last axis alone is transformed."),
      field(&IntgemmAttrs::out_type, "out_type", "dtype of the result; of float32 alone there is a scaling.")
          .one_of("float32|int32"));

  bool has_scaling() const { return out_type == "float32"; }
  size_t bias() const { return has_scaling() ? 3 : 2; }
  size_t input_count() const { return bias() + (no_bias ? 0 : 1); }
};

Shape result_shape(const Shape& data, const IntgemmAttrs& a) {
  Shape result = a.flatten ? Shape{data[0]} : Shape(data.begin(), data.end() - 1);
  result.push_back(a.num_hidden);
  return result;
}

int64_t row_length(const Shape& data, const IntgemmAttrs& a) {
  int64_t length = data.back();
  for (size_t k = 1; a.flatten && k + 1 < data.size(); ++k) length *= data[k];
  return length;
}

void infer_intgemm(Infer& i, const IntgemmAttrs& a) {
  const Shape& data = i.shape(0);
  i.require(i.input_count() == a.input_count(), ErrorKind::kType,
            "{} arrays are needed with out_type={} and no_bias={}, got {}", a.input_count(), a.out_type, a.no_bias,
            i.input_count());
  i.require(data.size() >= 2, ErrorKind::kRuntime, "data with at least 2 axes are needed, got shape {}",
            to_string(data));
  i.require(i.dtype(0) == DType::kFloat32 || i.dtype(0) == DType::kInt8, ErrorKind::kRuntime,
            "data must hold float32 or int8, got {}", dtype_name(i.dtype(0)));
  const int64_t length = row_length(data, a);
  expect_type(i, 1, Shape{a.num_hidden, length}, DType::kInt8);
  if (a.has_scaling()) expect_type(i, 2, Shape{1}, DType::kFloat32);
  const DType dtype = parse_dtype(a.out_type);
  if (!a.no_bias) {
    const bool is_column = i.shape(a.bias()).size() == 2;
    expect_type(i, a.bias(), is_column ? Shape{a.num_hidden, 1} : Shape{a.num_hidden}, dtype);
  }
  const Shape result = result_shape(data, a);
  i.output(result, dtype);
  i.cost(gemm_cost(DType::kFloat32, 1, element_count(result) / a.num_hidden, a.num_hidden, length));
}

void run_intgemm(KernelContext& c, const IntgemmAttrs& a) {
  const Tensor &data = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  const int64_t rows = out.size / a.num_hidden, length = data.size / rows;
  float scale = a.has_scaling() ? number_of(c.input(2)) : 1;
  const float* numbers = nullptr;
  if (data.dtype == DType::kInt8) {
    numbers = floats_of(c, data);
  } else {
    const float most = largest_of(data);
    auto* rounded = c.workspace<float>(data.size);
    quantize_to(data, most, rounded);
    numbers = rounded;
    scale /= static_cast<float>(127.0 / static_cast<double>(most));
  }
  auto* sums = a.has_scaling() ? c.workspace<int32_t>(out.size) : out.as<int32_t>();
  exact_products(c, DType::kInt8, numbers, floats_of(c, c.input(1)), rows, a.num_hidden, length, sums);
  const Tensor* bias = a.no_bias ? nullptr : &c.input(a.bias());
  if (!a.has_scaling()) {
    if (bias) add_to_rows(sums, bias->as<const int32_t>(), rows, a.num_hidden);
    return;
  }
  parallel_for(rows, 8, static_cast<double>(out.size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t k = 0; k < a.num_hidden; ++k) {
        const float product = static_cast<float>(sums[r * a.num_hidden + k]) * scale;
        out.as<float>()[r * a.num_hidden + k] = bias ? product + bias->as<const float>()[k] : product;
      }
  });
}

OpDef fully_connected() {
  const SampleArray weight = integers({8, 64}, -127, 128, DType::kInt8);
  return general<IntgemmAttrs>(
      {.name = "_contrib_intgemm_fully_connected",
       .aliases = {"_npx_intgemm_fully_connected"},
       .python = shown_as("intgemm_fully_connected"),
       .doc =
           "FullyConnected on int8: data, int8 or float32, which are quantized as intgemm_prepare_data does with their "
           "largest value, times a weight of intgemm_prepare_weight, with exact int32 sums. As float32 they are "
           "multiplied by scaling, an array of one, and bias is added; as int32 there is no scaling, and bias holds "
           "int32. The gradient is zero. Raises MXNetError for arrays that do not fit.",
       .inputs = {"data", "weight", "scaling", "bias"},
       .optional_inputs = 2,
       .input_name = [](const IntgemmAttrs& a, size_t i) -> std::string {
         return i == 2 && !a.has_scaling() ? "bias" : "";
       },
       .input_count = [](const IntgemmAttrs& a) { return a.input_count(); },
       .complete =
           [](Completion& c, const IntgemmAttrs& a) {
             if (c.is_known(0) && c.shape(0).size() >= 2) {
               c.set(1, {a.num_hidden, row_length(c.shape(0), a)});
               c.set_output(0, result_shape(c.shape(0), a));
             }
             if (a.has_scaling()) c.set(2, {1});
             if (!a.no_bias && !c.has_rank(a.bias())) c.set(a.bias(), {a.num_hidden});
           },
       .result_dtype = [](std::span<const DType>, const IntgemmAttrs& a, size_t) { return parse_dtype(a.out_type); },
       .infer = infer_intgemm,
       .kernel = run_intgemm,
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 64}), weight, values({0.01}), uniform({8})},
                          make_attrs(IntgemmAttrs{.num_hidden = 8})),
                   Sample({integers({2, 64}, -127, 128, DType::kInt8), weight, integers({8}, -99, 99)},
                          make_attrs(IntgemmAttrs{.num_hidden = 8, .out_type = "int32"}))}});
}

}  // namespace

Operators intgemm_operators() {
  return {max_absolute(), prepare_data(), prepare_weight(), take_weight(), fully_connected()};
}

}  // namespace headrace
