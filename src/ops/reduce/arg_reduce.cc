// Positions of the largest and smallest elements.
#include "ops/reduce/arg_reduce.h"

#include <fmt/format.h>

#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

struct ArgReduceAttrs {
  std::optional<int64_t> axis = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&ArgReduceAttrs::axis, "axis", "Axis to search; None: the flattened array."),
             field(&ArgReduceAttrs::keepdims, "keepdims", "Keep the axis with length 1."));
};

struct NumpyArgReduceAttrs {
  std::optional<int64_t> axis = {};
  bool keepdims = false;
  static constexpr auto kFields =
      fields(field(&NumpyArgReduceAttrs::axis, "axis", "Axis to search; None: the flattened array."),
             field(&NumpyArgReduceAttrs::keepdims, "keepdims", "Keep the axis with length 1.").of_files());
};

// Positions hold the dtype of the data where it has numbers enough.
DType position_dtype(DType data) { return data == DType::kBool || data == DType::kBfloat16 ? DType::kFloat32 : data; }

DType position_dtypes(std::span<const DType> inputs, const Attrs&, size_t) { return position_dtype(inputs[0]); }

template <class A, bool legacy>
Shape result_shape(const char* name, const Shape& shape, const A& a) {
  const AxisSet axes = a.axis ? axis_set(name, {*a.axis}, shape.size()) : all_axes(shape.size());
  const Shape result = without_axes(shape, axes, a.keepdims);
  return legacy ? legacy_shape(result) : result;
}

template <class A, bool legacy>
void complete(Completion& c, const A& a) {
  if (c.has_rank(0)) c.set_output(0, result_shape<A, legacy>(c.name(), c.shape(0), a));
}

template <class A, bool legacy>
void infer_arg(Infer& i, const A& a) {
  const Shape& shape = i.shape(0);
  const Shape result = result_shape<A, legacy>(i.name(), shape, a);
  i.require(
      i.size(0) > 0 || element_count(result) == 0, ErrorKind::kValue,
      "an empty sequence has no largest or smallest element: shape {}; give an array with elements along the axis",
      to_string(shape));
  i.output(result, legacy ? position_dtype(i.dtype(0)) : DType::kInt64);
  i.cost(streaming_cost(i));
}

template <class A>
std::function<void(KernelContext&, const A&)> kernel(bool largest) {
  return [largest](KernelContext& c, const A& a) {
    const Shape& shape = c.input(0).shape;
    AxisSpace space{1, c.input(0).size, 1};
    if (a.axis && !shape.empty())
      space = AxisSpace::along(shape, normalize_axis(*a.axis, static_cast<int64_t>(shape.size()), c.name()));
    arg_reduce(c, c.input(0), space, largest, c.output(0));
  };
}

OpDef legacy_arg(const char* name, bool largest) {
  return general<ArgReduceAttrs>(
      {.name = name,
       .python = {fmt::format("nd.{}", name), fmt::format("NDArray.{}", name)},
       .doc = fmt::format("Position of the {} element along `axis`, in the dtype of the data (bool and "
                          "bfloat16: float32); the first one of several. NaN wins. Without an axis the array is "
                          "flattened and the result has shape (1,). Raises ValueError for "
                          "an axis out of range or an empty array.",
                          largest ? "largest" : "smallest"),
       .complete = complete<ArgReduceAttrs, true>,
       .result_dtype = position_dtypes,
       .infer = infer_arg<ArgReduceAttrs, true>,
       .kernel = kernel<ArgReduceAttrs>(largest),
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {uniform({3, 4}),
                   Sample({uniform({3, 4})}, make_attrs(ArgReduceAttrs{.axis = 1, .keepdims = true}))}});
}

OpDef numpy_arg(const char* name, bool largest) {
  return general<NumpyArgReduceAttrs>(
      {.name = fmt::format("_npi_{}", name),
       .python = {fmt::format("np.{}", name), fmt::format("ndarray.{}", name)},
       .doc =
           fmt::format("Position of the {} element along `axis`, as int64; the first one of several. NaN wins. Without "
                       "an axis the array is flattened and the result has shape (). Raises ValueError for an axis out "
                       "of range or an empty array.",
                       largest ? "largest" : "smallest"),
       .inputs = {"a"},
       .complete = complete<NumpyArgReduceAttrs, false>,
       .result_dtype = result_dtypes::always(DType::kInt64),
       .infer = infer_arg<NumpyArgReduceAttrs, false>,
       .kernel = kernel<NumpyArgReduceAttrs>(largest),
       .spelling =
           [name = fmt::format("_npi_{}", name)](const NumpyArgReduceAttrs& a, size_t) {
             return Spelling{name, {{"axis", or_none(a.axis)}, {"keepdims", a.keepdims}}};
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {uniform({3, 4}), Sample({uniform({3, 4})}, make_attrs(NumpyArgReduceAttrs{.axis = 0}))}});
}

OpDef argmax_channel() {
  return general(
      {.name = "argmax_channel",
       .python = {"nd.argmax_channel", "NDArray.argmax_channel"},
       .doc = "Position of the largest element along axis 1 of an array (batch, channels, ...), in its dtype (bool and "
              "bfloat16: float32): shape (batch, ...). Raises ValueError for an array of fewer than two dimensions.",
       .result_dtype = position_dtypes,
       .infer =
           [](Infer& i, const NoAttrs&) {
             i.require(i.shape(0).size() >= 2, ErrorKind::kValue, "expected two or more dimensions, got shape {}",
                       to_string(i.shape(0)));
             infer_arg<ArgReduceAttrs, true>(i, {.axis = 1});
           },
       .kernel =
           [](KernelContext& c, const NoAttrs&) {
             arg_reduce(c, c.input(0), AxisSpace::along(c.input(0).shape, 1), true, c.output(0));
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {uniform({3, 4})}});
}

}  // namespace

Operators arg_reduce_operators() {
  return {legacy_arg("argmax", true), legacy_arg("argmin", false), numpy_arg("argmax", true),
          numpy_arg("argmin", false), argmax_channel()};
}

}  // namespace headrace
