// Operators that give the same elements with the axes in another order.

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct TransposeAttrs {
  Shape axes;
  static constexpr auto kFields = fields(
      field(&TransposeAttrs::axes, "axes", "Axis k of the result is axis axes[k]; empty: all in reverse order."));
};

struct NpTransposeAttrs {
  std::optional<Shape> axes;
  static constexpr auto kFields = fields(
      field(&NpTransposeAttrs::axes, "axes", "Axis k of the result is axis axes[k]; None: all in reverse order."));
};

struct SwapAttrs {
  int64_t dim1 = 0, dim2 = 0;
  static constexpr auto kFields = fields(field(&SwapAttrs::dim1, "dim1", "One axis."),
                                         field(&SwapAttrs::dim2, "dim2", "The axis it changes places with."));
};

struct NpSwapAttrs {
  int64_t axis1 = 0, axis2 = 0;
  static constexpr auto kFields =
      fields(field(&NpSwapAttrs::axis1, "axis1", "One axis.").required(),
             field(&NpSwapAttrs::axis2, "axis2", "The axis it changes places with.").required());
};

struct MoveAttrs {
  Shape source, destination;
  static constexpr auto kFields =
      fields(field(&MoveAttrs::source, "source", "Axes to move.").required(),
             field(&MoveAttrs::destination, "destination", "Where each of them goes.").required());
};

struct RollAxisAttrs {
  int64_t axis = 0, start = 0;
  static constexpr auto kFields =
      fields(field(&RollAxisAttrs::axis, "axis", "The axis to move.").required(),
             field(&RollAxisAttrs::start, "start", "It is moved until it lies before this axis."));
};

Shape full_axes(const Shape& axes, size_t ndim, const char* name) {
  check(axes.size() == ndim, ErrorKind::kValue, "{}: axes {} name {} axes, but the array has {}", name, to_string(axes),
        axes.size(), ndim);
  return normalize_axes(axes, ndim, name);
}

// The permutation that each kind of attributes means for an array of `ndim` axes.
Shape order_of(const TransposeAttrs& a, size_t ndim, const char* name) {
  return a.axes.empty() ? reversed_axes(ndim) : full_axes(a.axes, ndim, name);
}

Shape order_of(const NpTransposeAttrs& a, size_t ndim, const char* name) {
  return a.axes ? full_axes(*a.axes, ndim, name) : reversed_axes(ndim);
}

Shape swapped_axes(int64_t first, int64_t second, size_t ndim, const char* name) {
  Shape order(ndim);
  for (size_t i = 0; i < ndim; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[static_cast<size_t>(normalize_axis(first, static_cast<int64_t>(ndim), name))],
            order[static_cast<size_t>(normalize_axis(second, static_cast<int64_t>(ndim), name))]);
  return order;
}

Shape order_of(const SwapAttrs& a, size_t ndim, const char* name) { return swapped_axes(a.dim1, a.dim2, ndim, name); }
Shape order_of(const NpSwapAttrs& a, size_t ndim, const char* name) {
  return swapped_axes(a.axis1, a.axis2, ndim, name);
}

Shape order_of(const MoveAttrs& a, size_t ndim, const char* name) {
  check(a.source.size() == a.destination.size(), ErrorKind::kValue,
        "{}: source {} and destination {} must name equally many axes", name, to_string(a.source),
        to_string(a.destination));
  Shape source = normalize_axes(a.source, ndim, name), destination = normalize_axes(a.destination, ndim, name);
  Shape order(ndim, -1);
  for (size_t i = 0; i < source.size(); ++i) order[static_cast<size_t>(destination[i])] = source[i];
  int64_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    axis = next++;
  }
  return order;
}

Shape order_of(const RollAxisAttrs& a, size_t ndim, const char* name) {
  int64_t count = static_cast<int64_t>(ndim);
  int64_t axis = normalize_axis(a.axis, count, name), start = a.start < 0 ? a.start + count : a.start;
  check(start >= 0 && start <= count, ErrorKind::kValue, "{}: start {} is outside [{}, {}]", name, a.start, -count,
        count);
  if (axis < start) --start;
  Shape order;
  for (int64_t i = 0; i < count; ++i)
    if (i != axis) order.push_back(i);
  order.insert(static_cast<size_t>(start), axis);
  return order;
}

template <class A>
OpDef transposing(OpDef g) {
  g.gradient = [name = g.name](Gradient& d, const A& a) {
    Shape back = inverse_axes(order_of(a, d.input(0).ndim(), name.c_str()));
    d.set(0, call("transpose", {d.head()}, {{"axes", back}}));
  };
  g.complete = [](Completion& c, const A& a) {
    if (c.has_rank(0)) {
      const Shape& in = c.shape(0);
      Shape out;
      for (int64_t axis : order_of(a, in.size(), c.name())) out.push_back(in[static_cast<size_t>(axis)]);
      c.set_output(0, out);
    }
    if (!c.has_output_rank()) return;
    const Shape& out = c.output();
    const Shape order = order_of(a, out.size(), c.name());
    Shape in(out.size());
    for (size_t i = 0; i < order.size(); ++i) in[static_cast<size_t>(order[i])] = out[i];
    c.set(0, in);
  };
  return view_operator<A>(std::move(g), [](const char* name, const Geometry& in, Geometry& out, const A& a) {
    out = permuted(in, order_of(a, in.shape.size(), name));
    return true;
  });
}

}  // namespace

namespace {

OpDef row_major() {
  return general<NoAttrs>({.name = "_contiguous",
                           .doc = "The same values, packed in row-major order.",
                           .infer = [](Infer& i, const NoAttrs&) { i.output(i.shape(0), i.dtype(0)); },
                           .kernel =
                               [](KernelContext& c, const NoAttrs&) {
                                 const Tensor &from = c.input(0), &to = c.output(0);
                                 copy_elements(c, to.data, to.strides, from.data, from.strides, from.shape, from.dtype);
                               },
                           .gradient = [](Gradient& g, const NoAttrs&) { g.set(0, g.head()); },
                           .saves_inputs = kNothing,
                           .strided_inputs = true,
                           .samples = {uniform({2, 3})}});
}

}  // namespace

Operators transpose_operators() {
  return {
      row_major(),
      transposing<TransposeAttrs>({.name = "transpose",
                                   .python = {"nd.transpose", "NDArray.transpose"},
                                   .doc = "A view with the axes in the given order. Raises ValueError for wrong axes.",
                                   .samples = {uniform({2, 3, 4})}}),
      transposing<NpTransposeAttrs>(
          {.name = "_np_transpose",
           .aliases = {"_npi_transpose"},
           .python = {"np.transpose", "ndarray.transpose"},
           .doc = "A view with the axes in the given order. Raises ValueError for wrong axes.",
           .inputs = {"a"},
           .samples = {uniform({2, 3, 4})}}),
      transposing<SwapAttrs>({.name = "SwapAxis",
                              .aliases = {"swapaxes", "_npi_swapaxes"},
                              .python = {"nd.swapaxes", "nd.SwapAxis", "NDArray.swapaxes"},
                              .doc = "A view in which two axes have changed places.",
                              .samples = {{{uniform({2, 3, 4})}, make_attrs(SwapAttrs{0, 2})}}}),
      transposing<NpSwapAttrs>({.name = "_np_swapaxes",
                                .python = {"np.swapaxes", "ndarray.swapaxes"},
                                .doc = "A view in which two axes have changed places.",
                                .inputs = {"a"},
                                .spelling =
                                    [](const NpSwapAttrs& a, size_t) {
                                      return Spelling{"SwapAxis", {{"dim1", a.axis1}, {"dim2", a.axis2}}};
                                    },
                                .samples = {{{uniform({2, 3, 4})}, make_attrs(NpSwapAttrs{0, 2})}}}),
      transposing<MoveAttrs>(
          {.name = "_np_moveaxis",
           .aliases = {"moveaxis"},
           .python = {"nd.moveaxis", "np.moveaxis"},
           .doc = "A view in which the source axes stand at their destinations; the others keep order.",
           .np_inputs = {"a"},
           .samples = {{{uniform({2, 3, 4})}, make_attrs(MoveAttrs{{0}, {-1}})}}}),
      transposing<RollAxisAttrs>({.name = "_npi_rollaxis",
                                  .python = {"np.rollaxis"},
                                  .doc = "A view in which `axis` lies before `start`.",
                                  .inputs = {"a"},
                                  .samples = {{{uniform({2, 3, 4})}, make_attrs(RollAxisAttrs{2, 0})}}}),
  };
}

}  // namespace headrace
