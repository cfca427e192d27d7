// What reduction operators share: their attributes, and the making of an operator from a Reduction.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/reduce/fused_reduction.h"
#include "ops/reduce/reduction.h"

namespace headrace {

// nd.sum(data, axis=None, keepdims=False, exclude=False)
struct LegacyReduceAttrs {
  std::optional<Shape> axis = {};
  bool keepdims = false;
  bool exclude = false;
  static constexpr auto kFields =
      fields(field(&LegacyReduceAttrs::axis, "axis",
                   "Axis or axes to reduce; None or () means all, negative counts from the end."),
             field(&LegacyReduceAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."),
             field(&LegacyReduceAttrs::exclude, "exclude", "Reduce all axes but those named."));

  AxisSet axes(const char* op, size_t ndim) const { return legacy_axes(op, axis, exclude, ndim); }
  Shape result_shape(const Shape& shape, AxisSet set) const { return legacy_shape(without_axes(shape, set, keepdims)); }
  std::optional<double> start() const { return {}; }
};

// np.max(a, axis=None, keepdims=False)
struct NumpyReduceAttrs {
  std::optional<Shape> axis = {};
  bool keepdims = false;
  static constexpr auto kFields = fields(
      field(&NumpyReduceAttrs::axis, "axis", "Axis or axes to reduce; None means all, negative counts from the end."),
      field(&NumpyReduceAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));

  AxisSet axes(const char* op, size_t ndim) const { return numpy_axes(op, axis, ndim); }
  Shape result_shape(const Shape& shape, AxisSet set) const { return without_axes(shape, set, keepdims); }
  std::optional<double> start() const { return {}; }
};

// np.sum(a, axis=None, dtype=None, keepdims=False, initial=None)
struct NumpySumAttrs {
  std::optional<Shape> axis = {};
  std::optional<DType> dtype = {};
  bool keepdims = false;
  std::optional<double> initial = {};
  static constexpr auto kFields = fields(
      field(&NumpySumAttrs::axis, "axis", "Axis or axes to reduce; None means all, negative counts from the end."),
      field(&NumpySumAttrs::dtype, "dtype", "dtype of the result; None: that of the input (int64 for bool)."),
      field(&NumpySumAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."),
      field(&NumpySumAttrs::initial, "initial", "Starting value."));

  AxisSet axes(const char* op, size_t ndim) const { return numpy_axes(op, axis, ndim); }
  Shape result_shape(const Shape& shape, AxisSet set) const { return without_axes(shape, set, keepdims); }
  std::optional<double> start() const { return initial; }
};

// np.mean(a, axis=None, dtype=None, keepdims=False)
struct NumpyMeanAttrs {
  std::optional<Shape> axis = {};
  std::optional<DType> dtype = {};
  bool keepdims = false;
  static constexpr auto kFields = fields(
      field(&NumpyMeanAttrs::axis, "axis", "Axis or axes to reduce; None means all, negative counts from the end."),
      field(&NumpyMeanAttrs::dtype, "dtype", "dtype of the result; None: that of the input (float32 for integers)."),
      field(&NumpyMeanAttrs::keepdims, "keepdims", "Keep reduced axes with length 1."));

  AxisSet axes(const char* op, size_t ndim) const { return numpy_axes(op, axis, ndim); }
  Shape result_shape(const Shape& shape, AxisSet set) const { return without_axes(shape, set, keepdims); }
  std::optional<double> start() const { return {}; }
};

// dtype rules: of the result, from that of the input.
template <class A>
DType keeps_dtype(DType input, const A&) {
  return input;
}
template <class A>
DType sum_dtype(DType input, const A& a) {
  return a.dtype ? *a.dtype : input == DType::kBool ? DType::kInt64 : input;
}
template <class A>
DType mean_dtype(DType input, const A& a) {
  return a.dtype ? *a.dtype : is_floating(input) ? input : DType::kFloat32;
}

// Estimated time to read an array of this size once, on one core.
double streaming_cost(const Infer& i) noexcept;

// Lets the graph compiler put formulas before and after the operator, which runs `reduction_of(attributes)`, a
// Reduction that lives as long as the catalogue.
template <class A, class F>
void allow_fusion(OpDef& op, F reduction_of) {
  op.fuse = [reduction_of](const Attrs& attrs, const Fusion& s) {
    const A& a = attrs.as<A>();
    OpDef made;
    set_attrs_type<A>(made);
    made.name = "_fused_reduction";
    const AxisSet axes = a.axes(made.name.c_str(), s.data->shape().size());
    return fused_reduction(reduction_of(a), axes, a.start(), s, std::move(made));
  };
}

// The extents that a reduction keeps may be known before the others.
template <class A>
void complete_reduction(OpDef& parts) {
  parts.complete = [](Completion& c, const A& a) {
    if (c.has_rank(0)) c.set_output(0, a.result_shape(c.shape(0), a.axes(c.name(), c.shape(0).size())));
  };
}

// Completes `parts` with the rule and kernel of `reduction_of(attributes)`, a Reduction that lives as long as the
// catalogue. Without an identity, extremes of nothing are an error.
template <class A, class F>
OpDef reduction_operator_of(F reduction_of, bool has_identity, DType (*dtype)(DType, const A&), OpDef parts) {
  complete_reduction<A>(parts);
  parts.result_dtype = [dtype](std::span<const DType> inputs, const A& a, size_t) { return dtype(inputs[0], a); };
  parts.infer = [dtype, has_identity](Infer& i, const A& a) {
    const AxisSet axes = a.axes(i.name(), i.shape(0).size());
    const Shape result = a.result_shape(i.shape(0), axes);
    i.require(has_identity || reduced_count(i.shape(0), axes) > 0 || element_count(result) == 0, ErrorKind::kValue,
              "there is no largest or smallest element of zero elements: shape {} has nothing to reduce; give an array "
              "with elements along the reduced axes",
              to_string(i.shape(0)));
    i.output(result, dtype(i.dtype(0), a));
    i.cost(streaming_cost(i));
  };
  parts.strided_inputs = true;
  parts.kernel = [reduction_of](KernelContext& c, const A& a) {
    reduction_of(a).run(c, c.input(0), a.axes(c.name(), c.input(0).shape.size()), c.output(0), {.initial = a.start()});
  };
  OpDef op = general<A>(std::move(parts));
  allow_fusion<A>(op, reduction_of);
  return op;
}

// The same with one reduction, whatever the attributes.
template <class A>
OpDef reduction_operator(std::shared_ptr<const Reduction> reduction, DType (*dtype)(DType, const A&), OpDef parts) {
  const bool has_identity = reduction->combine() == Combine::kSum || reduction->combine() == Combine::kProd;
  return reduction_operator_of<A>([reduction](const A&) -> const Reduction& { return *reduction; }, has_identity, dtype,
                                  std::move(parts));
}

// The gradient of `y = reduction(x)` as `function(x, y, dy)` with y and dy seen in the shape of x.
template <class A>
auto elementwise_gradient(const char* function) {
  return [function](Gradient& g, const A& a) {
    const Shape& shape = g.input(0).shape();
    const AxisSet axes = a.axes(g.op().name.c_str(), shape.size());
    const DType dtype = g.input(0).dtype();
    g.set(0, call(function, {g.input(0), spread(cast_to(g.output(), dtype), shape, axes),
                             spread(cast_to(g.head(), dtype), shape, axes)}));
  };
}

}  // namespace headrace
