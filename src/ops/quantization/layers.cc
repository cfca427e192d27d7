// Layers on int8 and uint8: exact int32 sums, and the range that they stand for.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "ops/linalg/gemm.h"
#include "ops/quantization/dense.h"
#include "ops/quantization/layers.h"
#include "ops/quantization/products.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

void infer_dense(Infer& i, const DenseAttrs& a) {
  const size_t arrays = a.no_bias ? 2 : 3;
  i.require(i.input_count() == 3 * arrays, ErrorKind::kType, "{} arrays are needed with no_bias={}, got {}", 3 * arrays,
            a.no_bias, i.input_count());
  const Shape& data = i.shape(0);
  i.require(data.size() >= 2, ErrorKind::kRuntime, "data with at least 2 axes are needed, got shape {}",
            to_string(data));
  expect_quantized(i, 0);
  const auto [rows, columns] = matrix_of(data, a.flatten);
  expect_type(i, 1, Shape{a.num_hidden, columns}, DType::kInt8);
  if (!a.no_bias) expect_type(i, 2, Shape{a.num_hidden}, DType::kInt8);
  expect_numbers(i, arrays);
  Shape result = a.flatten ? Shape{data[0]} : Shape(data.begin(), data.end() - 1);
  result.push_back(a.num_hidden);
  quantized_outputs(i, result, DType::kInt32);
  i.cost(gemm_cost(DType::kFloat32, 1, rows, a.num_hidden, columns));
}

void run_dense(KernelContext& c, const DenseAttrs& a) {
  const Tensor &data = c.input(0), &weight = c.input(1), &out = c.output(0);
  const size_t first = a.no_bias ? 2 : 3;
  const auto range = [&](size_t k) {
    return largest(number_of(c.input(first + 2 * k)), number_of(c.input(first + 2 * k + 1)));
  };
  const SumRange sums = sum_range(product_range(data.dtype, range(0), range(1)), a.no_bias ? 0 : range(2));
  write_range(c, -sums.high, sums.high);
  if (out.size == 0) return;
  const auto [rows, columns] = matrix_of(data.shape, a.flatten);
  exact_products(c, data.dtype, floats_of(c, data), floats_of(c, weight), rows, a.num_hidden, columns,
                 out.as<int32_t>());
  scale_sums(out.as<int32_t>(), sums.scale, out.size);
  if (a.no_bias) return;
  const float half = quantized_range(DType::kInt8);
  const float scale =  // as MXNet rounds it, where it can
      sums.scale < 1 ? sums.bias : quantized_range(data.dtype) / range(0) * (half / range(1)) * range(2) / half;
  auto* bias = c.workspace<int32_t>(a.num_hidden);
  for (int64_t k = 0; k < a.num_hidden; ++k)
    bias[k] = saturated<int32_t>(std::trunc(static_cast<float>(c.input(2).as<int8_t>()[k]) * scale));
  add_to_rows(out.as<int32_t>(), bias, rows, a.num_hidden);
}

OpDef quantized_dense() {
  const auto ends = [](std::vector<SampleArray> arrays) {
    for (size_t k = arrays.size(); k-- > 0;) arrays.insert(arrays.end(), {values({-1}), values({2})});
    return arrays;
  };
  return general<DenseAttrs>(
      {.name = "_contrib_quantized_fully_connected",
       .python = {"nd.contrib.quantized_fully_connected"},
       .doc =
           "FullyConnected on int8 or uint8 data with int8 weights and bias: int32 sums and the range that they stand "
           "for. Behind the arrays come the ends of their ranges. Raises MXNetError for arrays that do not fit.",
       .inputs = layer_inputs(),
       .optional_inputs = 7,
       .outputs = 3,
       .array_names = quantized_result_names(),
       .input_name = [](const DenseAttrs& a, size_t i) { return layer_input(a.no_bias, i); },
       .input_count = [](const DenseAttrs& a) -> size_t { return a.no_bias ? 6 : 9; },
       .complete =
           [](Completion& c, const DenseAttrs& a) {
             complete_rows(c, a);
             if (c.is_known(0)) c.set(1, Shape{a.num_hidden, matrix_of(c.shape(0), a.flatten).second});
             if (!a.no_bias) c.set(2, Shape{a.num_hidden});
             for (size_t k = a.no_bias ? 2 : 3; k < c.input_count(); ++k) c.set(k, Shape{1});
           },
       .result_dtype = quantized_dtypes(DType::kInt32),
       .infer = infer_dense,
       .kernel = run_dense,
       .quantization = quantized_layer([](const DenseAttrs& a, size_t i) { return i == 1 || (i == 2 && !a.no_bias); }),
       .samples = {Sample(ends({bytes({2, 3}), bytes({4, 3}), bytes({4})}), make_attrs(DenseAttrs{.num_hidden = 4})),
                   Sample(ends({bytes({2, 3}, DType::kUint8), bytes({4, 3})}),
                          make_attrs(DenseAttrs{.num_hidden = 4, .no_bias = true}))}});
}

struct ConcatAttrs {
  int64_t num_args = 0, dim = 1;
  static constexpr auto kFields =
      fields(field(&ConcatAttrs::num_args, "num_args", "Number of arrays; a third of all that are given."),
             field(&ConcatAttrs::dim, "dim", "The axis along which they are joined."));
};

// Axes before `dim`, and elements from it on.
std::pair<int64_t, int64_t> split_at(const Shape& shape, int64_t dim) {
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
  };
  return {product(shape.begin(), shape.begin() + dim), product(shape.begin() + dim, shape.end())};
}

// uint8 where all are.
DType joined_dtype(std::span<const DType> data) {
  return std::ranges::count(data, DType::kUint8) == std::ssize(data) ? DType::kUint8 : DType::kInt8;
}

void infer_concat(Infer& i, const ConcatAttrs& a) {
  const size_t count = i.input_count() / 3;
  i.require(count > 0 && i.input_count() == 3 * count, ErrorKind::kType,
            "arrays and then two ends of a range for each are needed, got {} arrays", i.input_count());
  Shape shape = i.shape(0);
  const auto dim = static_cast<size_t>(normalize_axis(a.dim, static_cast<int64_t>(shape.size()), i.name()));
  std::vector<DType> dtypes;
  shape[dim] = 0;
  for (size_t k = 0; k < count; ++k) {
    expect_quantized(i, k);
    dtypes.push_back(i.dtype(k));
    Shape fitting = shape;
    const bool is_matrix = i.shape(k).size() == shape.size();
    if (is_matrix) fitting[dim] = i.shape(k)[dim];
    i.require(is_matrix && i.shape(k) == fitting, ErrorKind::kRuntime, "shapes {} and {} must agree in all axes but {}",
              to_string(i.shape(0)), to_string(i.shape(k)), dim);
    shape[dim] += i.shape(k)[dim];
  }
  expect_numbers(i, count);
  quantized_outputs(i, shape, joined_dtype(dtypes));
}

void concat(KernelContext& c, const ConcatAttrs& a) {
  const size_t count = c.input_count() / 3;
  const Tensor& out = c.output(0);
  const int64_t dim = normalize_axis(a.dim, static_cast<int64_t>(out.shape.size()), c.name());
  float low = 0, high = 0;
  for (size_t k = 0; k < count; ++k) {
    low = std::min(low, number_of(c.input(count + 2 * k)));
    high = std::max(high, number_of(c.input(count + 2 * k + 1)));
  }
  write_range(c, low, high);
  const float scale = quantizing_scale(out.dtype, low, high);
  const auto [rows, row] = split_at(out.shape, dim);
  int64_t begin = 0;
  for (size_t k = 0; k < count; ++k) {
    const Tensor& in = c.input(k);
    const int64_t part = split_at(in.shape, dim).second;
    const float own =
        quantizing_scale(in.dtype, number_of(c.input(count + 2 * k)), number_of(c.input(count + 2 * k + 1)));
    const Shape shape{part};
    const Strides packed{1};
    for (int64_t r = 0; r < rows; ++r)
      rescale({in.as<char>() + r * part, in.dtype, shape, packed, part}, scale / own, 0,
              {out.as<char>() + r * row + begin, out.dtype, shape, packed, part});
    begin += part;
  }
}

OpDef quantized_concat() {
  return general<ConcatAttrs>(
      {.name = "_contrib_quantized_concat",
       .python = {"nd.contrib.quantized_concat"},
       .doc =
           "Quantized arrays side by side along `dim`, brought to the largest range, and that range: int8 where one of "
           "them is, else uint8. The ends of the ranges follow the arrays: min and max of the first, of the second. "
           "Raises MXNetError for arrays that do not fit.",
       .variadic = true,
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete = [](Completion& c, const Attrs& a) { ends_from(c.input_count() / 3)(c, a); },
       .result_dtype =
           [](std::span<const DType> inputs, const ConcatAttrs&, size_t k) {
             return k == 0 ? joined_dtype(inputs.first(inputs.size() / 3)) : DType::kFloat32;
           },
       .infer = infer_concat,
       .kernel = concat,
       .zero_gradient = true,
       .samples = {Sample(
           {bytes({2, 3}), bytes({2, 1}, DType::kUint8), values({-1}), values({1}), values({0}), values({2})},
           make_attrs(ConcatAttrs{.num_args = 2}))}});
}

struct NormAttrs {
  double eps = 1e-3, momentum = 0.9;
  bool fix_gamma = true, use_global_stats = false, output_mean_var = false;
  int64_t axis = 1;
  bool cudnn_off = false;
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields = fields(
      field(&NormAttrs::eps, "eps", "Added to the variance."),
      field(&NormAttrs::momentum, "momentum", "Ignored; symbol files carry it."),
      field(&NormAttrs::fix_gamma, "fix_gamma", "Ignored: gamma counts as it is."),
      field(&NormAttrs::use_global_stats, "use_global_stats", "Ignored: the moving statistics are used."),
      field(&NormAttrs::output_mean_var, "output_mean_var", "Ignored; symbol files carry it."),
      field(&NormAttrs::axis, "axis", "Axis of the channels; negative counts from the end."),
      field(&NormAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."),
      field(&NormAttrs::min_calib_range, "min_calib_range", "Least value of the result; None: each run finds it."),
      field(&NormAttrs::max_calib_range, "max_calib_range", "Largest value of the result; None: each run finds it."));
};

enum NormInput : size_t { kData, kGamma, kBeta, kMean, kVariance, kMin, kMax };

void infer_norm(Infer& i, const NormAttrs& a) {
  expect_quantized(i, kData);
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(i.shape(kData).size()), i.name());
  for (size_t k = kGamma; k <= kVariance; ++k)
    expect_type(i, k, Shape{i.shape(kData)[static_cast<size_t>(axis)]}, DType::kFloat32);
  expect_numbers(i, kMin);
  quantized_outputs(i, i.shape(kData), DType::kInt8);
}

void normalize(KernelContext& c, const NormAttrs& a) {
  const Tensor &data = c.input(kData), &out = c.output(0);
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(data.shape.size()), c.name());
  const float half = quantized_range(DType::kInt8);
  const float unit = largest(number_of(c.input(kMin)), number_of(c.input(kMax))) / half;
  const int64_t channels = data.shape[static_cast<size_t>(axis)], inner = split_at(data.shape, axis + 1).second;
  auto *scale = c.workspace<float>(channels), *shift = c.workspace<float>(channels);
  for (int64_t k = 0; k < channels; ++k) {
    scale[k] =
        c.input(kGamma).as<float>()[k] / std::sqrt(c.input(kVariance).as<float>()[k] + static_cast<float>(a.eps));
    shift[k] = c.input(kBeta).as<float>()[k] - c.input(kMean).as<float>()[k] * scale[k];
  }
  auto* numbers = c.workspace<float>(data.size);
  const Tensor floats{numbers, DType::kFloat32, data.shape, data.strides, data.size};
  // uint8 data lose their last bit first, as in MXNet.
  const Tensor as_int8{c.workspace<int8_t>(data.size), DType::kInt8, data.shape, data.strides, data.size};
  rescale(data, data.dtype == DType::kUint8 ? half / quantized_range(DType::kUint8) : 1, 0, as_int8);
  rescale(as_int8, unit, 0, floats);
  parallel_for(data.size, 4096, static_cast<double>(data.size), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t channel = k / inner % channels;
      numbers[k] = numbers[k] * scale[channel] + shift[channel];
    }
  });
  auto [low, high] = extremes_of(floats);
  if (a.min_calib_range && a.max_calib_range) {
    low = static_cast<float>(*a.min_calib_range);
    high = static_cast<float>(*a.max_calib_range);
  }
  const float range = largest(low, high);
  rescale(floats, range == 0 ? 0 : half / range, 0, out);
  write_range(c, low, high);
}

OpDef quantized_norm() {
  return general<NormAttrs>(
      {.name = "_contrib_quantized_batch_norm",
       .python = {"nd.contrib.quantized_batch_norm"},
       .doc = "BatchNorm of int8 or uint8 data with the moving statistics, as int8 of the range min_calib_range to "
              "max_calib_range, or of what is found, and these two. Raises MXNetError for arrays that do not fit.",
       .inputs = {"data", "gamma", "beta", "moving_mean", "moving_var", "min_data", "max_data"},
       .outputs = 3,
       .array_names = quantized_result_names(),
       .complete =
           [](Completion& c, const NormAttrs& a) {
             if (c.is_known(kData)) {
               const Shape& data = c.shape(kData);
               const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(data.size()), c.name());
               for (size_t k = kGamma; k <= kVariance; ++k) c.set(k, Shape{data[static_cast<size_t>(axis)]});
             }
             for (size_t k : {kMin, kMax}) c.set(k, Shape{1});
           },
       .result_dtype = quantized_dtypes(DType::kInt8),
       .infer = infer_norm,
       .kernel = normalize,
       .quantization = calibrated_by(Quantization::Calibrated::kResult),
       .zero_gradient = true,
       .mutates = 0b11000,
       .samples = {Sample({bytes({2, 3, 2}), uniform({3}), uniform({3}), uniform({3}), uniform({3}, 0.5, 2),
                           values({-1}), values({1})},
                          make_attrs(NormAttrs{.min_calib_range = -2, .max_calib_range = 2}))}});
}

}  // namespace

Operators quantized_layer_operators() {
  Operators all = {quantized_dense(), quantized_concat(), quantized_norm(), rounded_rows()};
  all.append(quantized_image_operators());
  all.append(byte_layer_operators());
  return all;
}

}  // namespace headrace
