// From floats to int8 and uint8 and back.

#include "op/expect.h"
#include "op/result_dtype.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

using OptionalRange = std::optional<double>;

constexpr char kCalibratedDoc[] = "End of the range, known beforehand; None: that of the data.";

struct QuantizeAttrs {
  std::string out_type = "uint8";
  static constexpr auto kFields =
      fields(field(&QuantizeAttrs::out_type, "out_type", "dtype of the result.").one_of("int8|uint8"));
};

struct QuantizeV2Attrs {
  std::string out_type = "int8";
  OptionalRange min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields =
      fields(field(&QuantizeV2Attrs::out_type, "out_type",
                   "dtype of the result; auto: uint8 for a range known not to be negative, else int8.")
                 .one_of("auto|int8|uint8"),
             field(&QuantizeV2Attrs::min_calib_range, "min_calib_range", kCalibratedDoc),
             field(&QuantizeV2Attrs::max_calib_range, "max_calib_range", kCalibratedDoc));
  bool is_calibrated() const { return min_calib_range && max_calib_range; }
  DType dtype() const {
    const bool is_unsigned = out_type == "auto" ? is_calibrated() && *min_calib_range >= 0 : out_type == "uint8";
    return is_unsigned ? DType::kUint8 : DType::kInt8;
  }
  std::pair<float, float> range() const {
    return {static_cast<float>(*min_calib_range), static_cast<float>(*max_calib_range)};
  }
};

struct DequantizeAttrs {
  std::string out_type = "float32";
  static constexpr auto kFields =
      fields(field(&DequantizeAttrs::out_type, "out_type", "dtype of the result.").one_of("float32"));
};

struct AsymmetricAttrs {
  OptionalRange min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields = fields(field(&AsymmetricAttrs::min_calib_range, "min_calib_range", kCalibratedDoc),
                                         field(&AsymmetricAttrs::max_calib_range, "max_calib_range", kCalibratedDoc));
};

OpDef quantize() {
  return general<QuantizeAttrs>(
      {.name = "_contrib_quantize",
       .python = {"nd.contrib.quantize"},
       .doc =
           "float32 data as int8, on which the larger of |min_range| and |max_range| is 127, or uint8, on which it is "
           "255; and the two ends of the range. Rounds to the nearest number. Raises MXNetError for other dtypes.",
       .inputs = {"data", "min_range", "max_range"},
       .outputs = 3,
       .complete = keeps_shape_with_ends,
       .result_dtype = [](std::span<const DType>, const QuantizeAttrs& a,
                          size_t k) { return k == 0 ? parse_dtype(a.out_type) : DType::kFloat32; },
       .infer =
           [](Infer& i, const QuantizeAttrs& a) {
             expect_type(i, 0, i.shape(0), DType::kFloat32);
             expect_numbers(i, 1);
             quantized_outputs(i, i.shape(0), parse_dtype(a.out_type));
           },
       .kernel =
           [](KernelContext& c, const QuantizeAttrs&) {
             const float low = number_of(c.input(1)), high = number_of(c.input(2)), range = largest(low, high);
             const DType dtype = c.output(0).dtype;
             rescale(c.input(0), whole_range(dtype) / range, 0, c.output(0));
             if (dtype == DType::kUint8)
               write_range(c, low, high);
             else
               write_range(c, -range, range);
           },
       .samples = {Sample({uniform({2, 3}), values({-1.5}), values({2})}),
                   Sample({uniform({2, 3}), values({-1.5}), values({2})},
                          make_attrs(QuantizeAttrs{.out_type = "int8"}))}});
}

void quantize_v2_kernel(KernelContext& c, const QuantizeV2Attrs& a) {
  const Tensor &data = c.input(0), &out = c.output(0);
  if (!is_floating(data.dtype)) {
    const float range = quantized_range(data.dtype);
    const auto [low, high] = a.is_calibrated() ? a.range() : std::pair{data.dtype == DType::kUint8 ? 0 : -range, range};
    rescale(data, 1, 0, out);
    return write_range(c, low, high);
  }
  const auto [low, high] = a.is_calibrated() ? a.range() : extremes_of(data);
  rescale(data, quantizing_scale(out.dtype, low, high), 0, out);
  if (out.dtype == DType::kUint8)
    write_range(c, low, high);
  else
    write_range(c, -largest(low, high), largest(low, high));
}

OpDef quantize_v2() {
  return general<QuantizeV2Attrs>(
      {.name = "_contrib_quantize_v2",
       .python = {"nd.contrib.quantize_v2"},
       .doc =
           "float32 data as int8 or uint8, and the two ends of its range, given or found: the larger of their absolute "
           "values is 127.5, or 255.5. int8 and uint8 data pass. Raises MXNetError for other dtypes.",
       .outputs = 3,
       .complete = keep_shape,
       .result_dtype = [](std::span<const DType>, const QuantizeV2Attrs& a,
                          size_t k) { return k == 0 ? a.dtype() : DType::kFloat32; },
       .infer =
           [](Infer& i, const QuantizeV2Attrs& a) {
             if (i.dtype(0) != DType::kFloat32) expect_quantized(i, 0);
             quantized_outputs(i, i.shape(0), a.dtype());
           },
       .kernel = quantize_v2_kernel,
       .quantization = calibrated_by(Quantization::Calibrated::kInput),
       .samples = {uniform({2, 3}), integers({4}, -100, 100, DType::kInt8),
                   Sample({uniform({2, 3})}, make_attrs(QuantizeV2Attrs{
                                                 .out_type = "auto", .min_calib_range = 0, .max_calib_range = 1.5}))}});
}

// What integer sums would be of which only the result as floats is known.
OpDef quantize_sums() {
  return general<>(
      {.name = "_quantize_sums",
       .doc =
           "float32 data as int32, the largest absolute value being 2147483647, and the two ends of the range. Raises "
           "MXNetError for other dtypes.",
       .outputs = 3,
       .complete = keep_shape,
       .result_dtype = quantized_dtypes(DType::kInt32),
       .infer =
           [](Infer& i, const NoAttrs&) {
             expect_type(i, 0, i.shape(0), DType::kFloat32);
             quantized_outputs(i, i.shape(0), DType::kInt32);
           },
       .kernel =
           [](KernelContext& c, const NoAttrs&) {
             const auto [low, high] = extremes_of(c.input(0));
             const float range = largest(low, high);
             rescale(c.input(0), range == 0 ? 0 : kInt32Range / range, 0, c.output(0));
             write_range(c, -range, range);
           },
       .samples = {uniform({2, 3}), values({0, 0})}});
}

OpDef dequantize() {
  return general<DequantizeAttrs>(
      {.name = "_contrib_dequantize",
       .python = {"nd.contrib.dequantize"},
       .doc =
           "int8 or uint8 data as float32: 127.5, or 255.5, becomes the larger of |min_range| and |max_range|. Raises "
           "MXNetError for other dtypes.",
       .inputs = {"data", "min_range", "max_range"},
       .complete = keeps_shape_with_ends,
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .infer =
           [](Infer& i, const DequantizeAttrs&) {
             expect_quantized(i, 0);
             expect_numbers(i, 1);
             i.output(i.shape(0), DType::kFloat32);
           },
       .kernel =
           [](KernelContext& c, const DequantizeAttrs&) {
             const float range = largest(number_of(c.input(1)), number_of(c.input(2)));
             rescale(c.input(0), range / quantized_range(c.input(0).dtype), 0, c.output(0));
           },
       .samples = {Sample({integers({2, 3}, -128, 128, DType::kInt8), values({-1.5}), values({2})})}});
}

OpDef requantize() {
  return general<QuantizeV2Attrs>(
      {.name = "_contrib_requantize",
       .python = {"nd.contrib.requantize"},
       .doc =
           "int32 data, 2147483647 standing for the larger of |min_range| and |max_range|, as int8 or uint8 of a range "
           "given or found, and its two ends. Raises MXNetError for other dtypes.",
       .inputs = {"data", "min_range", "max_range"},
       .outputs = 3,
       .complete = keeps_shape_with_ends,
       .result_dtype = [](std::span<const DType>, const QuantizeV2Attrs& a,
                          size_t k) { return k == 0 ? a.dtype() : DType::kFloat32; },
       .infer =
           [](Infer& i, const QuantizeV2Attrs& a) {
             expect_type(i, 0, i.shape(0), DType::kInt32);
             expect_numbers(i, 1);
             quantized_outputs(i, i.shape(0), a.dtype());
           },
       .kernel =
           [](KernelContext& c, const QuantizeV2Attrs& a) {
             const float unit = largest(number_of(c.input(1)), number_of(c.input(2))) / kInt32Range;
             auto [low, high] = a.is_calibrated() ? a.range() : extremes_of(c.input(0));
             const float range = largest(low, high) * (a.is_calibrated() ? 1 : unit);
             const DType dtype = c.output(0).dtype;
             rescale(c.input(0), range == 0 ? 0 : unit * (whole_range(dtype) / range), 0, c.output(0));
             write_range(c, dtype == DType::kUint8 ? 0 : -range, range);
           },
       .quantization = calibrated_by(Quantization::Calibrated::kInput),
       .samples = {Sample({integers({2, 3}, -100000, 100000), values({-1.5}), values({2})})}});
}

void quantize_asymmetrically(KernelContext& c, const AsymmetricAttrs& a) {
  const DType dtype = c.input(0).dtype;
  float scale = 1, shift = dtype == DType::kInt8 ? 128 : 0;
  if (is_floating(dtype)) {
    const auto [low, high] = a.min_calib_range && a.max_calib_range ? std::pair{static_cast<float>(*a.min_calib_range),
                                                                                static_cast<float>(*a.max_calib_range)}
                                                                    : extremes_of(c.input(0));
    scale = 255 / (high - low);
    shift = 255 - high * scale;
  }
  rescale(c.input(0), scale, shift, c.output(0));
  write_range(c, scale, shift);
}

OpDef quantize_asym() {
  return general<AsymmetricAttrs>(
      {.name = "_contrib_quantize_asym",
       .python = {"nd.contrib.quantize_asym"},
       .doc = "data * scale + shift as uint8, the ends of the range, given or found, becoming 0 and 255; and scale and "
              "shift. int8 data are shifted by 128, uint8 data pass. Raises MXNetError for other dtypes.",
       .outputs = 3,
       .array_names = {.outputs = {"output", "scale", "shift"}},
       .result_dtype = quantized_dtypes(DType::kUint8),
       .infer =
           [](Infer& i, const AsymmetricAttrs&) {
             if (i.dtype(0) != DType::kFloat32) expect_quantized(i, 0);
             quantized_outputs(i, i.shape(0), DType::kUint8);
           },
       .kernel = quantize_asymmetrically,
       .quantization = calibrated_by(Quantization::Calibrated::kInput),
       .samples = {uniform({2, 3}), integers({4}, -100, 100, DType::kInt8)}});
}

}  // namespace

Operators quantize_operators() {
  return {quantize(), quantize_v2(), quantize_sums(), dequantize(), requantize(), quantize_asym()};
}

}  // namespace headrace
