// Quantized numbers: a float range [-r, r] on int8, [0, r] on uint8, r being the larger of |min| and |max|. Pure
// functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"

namespace headrace {

inline constexpr float kInt32Range = 2147483647.0f;

// The number that r becomes, as MXNet has it on CPUs: halves, so that both ends round away.
inline float quantized_range(DType dtype) { return dtype == DType::kUint8 ? 255.5f : 127.5f; }

// The same in whole numbers, where MXNet has it so.
inline float whole_range(DType dtype) { return dtype == DType::kUint8 ? 255.0f : 127.0f; }

inline float largest(float low, float high) { return std::max(std::abs(low), std::abs(high)); }

// The one number of an array.
inline float number_of(const Tensor& tensor) { return *tensor.as<float>(); }

// What a quantized array is multiplied with to have the number r at its end.
inline float quantizing_scale(DType dtype, float low, float high) {
  const float range = largest(low, high);
  return range == 0 ? kInt32Range : quantized_range(dtype) / range;
}

// The nearest number of T, even of two; the ends beyond, 0 for NaN.
template <class T>
T saturated(float x) {
  if (!(x == x)) return 0;
  const double nearest = std::nearbyint(static_cast<double>(x));
  return static_cast<T>(std::clamp<double>(nearest, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// out = saturated(scale * in + shift), from any dtype to int8, uint8, int32, or to float32 as it is.
void rescale(const Tensor& in, float scale, float shift, const Tensor& out);
// The least and the largest element; {0, 0} of none.
std::pair<float, float> extremes_of(const Tensor& tensor);

// The range of int32 products of numbers with the ranges of a and b, by MXNet's rule for int8 or uint8 a.
float product_range(DType a, float range_a, float range_b);
// What the int32 sums of a layer stand for, whose products and int8 biases have these ranges.
struct SumRange {
  float high;   // that of the products, or twice that of biases which do not fit into it
  float scale;  // what sums of products are multiplied with to be in it, 1 or less
  float bias;   // what biases are multiplied with
};
inline SumRange sum_range(float products, float biases) {
  const float high = biases <= products ? products : 2 * biases;
  return {high, biases <= products ? 1 : products / high, biases / 127 * (kInt32Range / high)};
}

// Refuses input k unless it holds int8 or uint8.
void expect_quantized(const Infer& i, size_t k);
// Refuses inputs from `first` on unless each is one float32: minima and maxima.
void expect_numbers(const Infer& i, size_t first);
// For graphs: the shape of the ends of ranges, which are the inputs from `first` on.
inline auto ends_from(size_t first) {
  return [first](Completion& c, const Attrs&) {
    for (size_t k = first; k < c.input_count(); ++k) c.set(k, Shape{1});
  };
}
// The same of operators whose result has the shape of the data.
inline void keeps_shape_with_ends(Completion& c, const Attrs& a) {
  c.set_equal(0);
  ends_from(1)(c, a);
}
// Of the results: data, then the ends of their range.
inline auto quantized_dtypes(DType dtype) {
  return [dtype](std::span<const DType>, const Attrs&, size_t k) { return k == 0 ? dtype : DType::kFloat32; };
}
// The same where all three are as the first inputs.
inline DType dtypes_of_inputs(std::span<const DType> inputs, const Attrs&, size_t k) { return inputs[k]; }
// Names of a quantized layer's inputs. Without bias those behind it move up, and two are less.
inline std::vector<std::string> layer_inputs() {
  return {"data", "weight", "bias", "min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias"};
}
inline std::string layer_input(bool no_bias, size_t i) { return no_bias && i >= 2 ? layer_inputs().at(i + 1) : ""; }
// For samples: any numbers of int8 or uint8.
SampleArray bytes(Shape shape, DType dtype = DType::kInt8);
inline ArrayNames quantized_result_names() { return {.outputs = {"output", "min_output", "max_output"}}; }

// For OpDef::quantization: of layers on data, weight and perhaps bias; of what is calibrated by its data or result.
inline std::shared_ptr<const Quantization> quantized_layer(AttrFunction<bool(const Attrs&, size_t)> holds_int8) {
  return quantization({.makes_sums = true, .holds_int8 = std::move(holds_int8)});
}
inline std::shared_ptr<const Quantization> calibrated_by(Quantization::Calibrated what) {
  return quantization({.calibrated = what});
}
// States the results of a quantized operator: data, minimum, maximum.
void quantized_outputs(Infer& i, const Shape& shape, DType dtype);
void write_range(const KernelContext& c, float low, float high);

}  // namespace headrace
