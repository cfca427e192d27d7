// Operators that repeat elements: broadcasting, tile, repeat. Each is the packed copy of a view in which some axes have
// stride 0; its gradient sums over these axes.

#include <algorithm>

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct BroadcastShapeAttrs {
  Shape shape;
  static constexpr auto kFields = fields(
      field(&BroadcastShapeAttrs::shape, "shape", "The shape to broadcast to; -2: as the array, counted from the end.")
          .required());
};

struct BroadcastToAttrs {
  Shape shape;
  static constexpr auto kFields =
      fields(field(&BroadcastToAttrs::shape, "shape", "The shape to broadcast to; 0 keeps an extent.").required());
};

struct BroadcastAxisAttrs {
  Shape axis, size;
  static constexpr auto kFields =
      fields(field(&BroadcastAxisAttrs::axis, "axis", "Axes of extent 1 to repeat."),
             field(&BroadcastAxisAttrs::size, "size", "The extent that each of them gets."));
};

struct BroadcastLikeAttrs {
  std::optional<Shape> lhs_axes, rhs_axes;
  static constexpr auto kFields =
      fields(field(&BroadcastLikeAttrs::lhs_axes, "lhs_axes", "Axes of lhs to repeat; None: all."),
             field(&BroadcastLikeAttrs::rhs_axes, "rhs_axes", "Axes of rhs whose extents they get; None: all."));
};

struct TileAttrs {
  Shape reps;
  static constexpr auto kFields =
      fields(field(&TileAttrs::reps, "reps", "How often the array is repeated along each axis.").required());
};

struct RepeatAttrs {
  int64_t repeats = 1;
  std::optional<int64_t> axis;
  static constexpr auto kFields =
      fields(field(&RepeatAttrs::repeats, "repeats", "How often each element is repeated.").required(),
             field(&RepeatAttrs::axis, "axis", "The axis to repeat along; None: the flattened array."));
};

// What an operator here makes of an array: the shape of its result, and the same elements as a view whose axes with
// stride 0 are the repetitions.
struct Expansion {
  Geometry view;
  Shape shape;
};

void check_broadcast(const char* name, const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size() && std::ranges::all_of(to, [](int64_t extent) { return extent >= 0; });
  for (size_t i = 0; fits && i < from.size(); ++i) {
    int64_t target = to[to.size() - from.size() + i];
    fits = from[i] == 1 || from[i] == target;
  }
  check(fits, ErrorKind::kValue, "{}: shape {} cannot be broadcast to {}; extents must be equal or 1", name,
        to_string(from), to_string(to));
}

Expansion to_shape(const char* name, const Geometry& in, const Shape& shape) {
  check_broadcast(name, in.shape, shape);
  return {broadcast(in, shape), shape};
}

Expansion expand(const char* name, const Geometry& in, const BroadcastShapeAttrs& a) {
  Shape shape = a.shape;
  const size_t ndim = in.shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == -2 && shape.size() - i <= ndim) shape[i] = in.shape[ndim - (shape.size() - i)];
  return to_shape(name, in, shape);
}

Expansion expand(const char* name, const Geometry& in, const BroadcastToAttrs& a) {
  check(a.shape.size() >= in.shape.size(), ErrorKind::kValue,
        "{}: shape {} must have as many axes as the array {}, or more", name, to_string(a.shape), to_string(in.shape));
  Shape shape = a.shape;
  const size_t added = shape.size() - in.shape.size();
  for (size_t i = added; i < shape.size(); ++i)
    if (shape[i] == 0) shape[i] = in.shape[i - added];
  return to_shape(name, in, shape);
}

Expansion expand(const char* name, const Geometry& in, const BroadcastAxisAttrs& a) {
  check(a.axis.size() == a.size.size(), ErrorKind::kValue, "{}: axis {} and size {} must be equally long", name,
        to_string(a.axis), to_string(a.size));
  Shape shape = in.shape, axes = normalize_axes(a.axis, in.shape.size(), name);
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(axes[i])] = a.size[i];
  return to_shape(name, in, shape);
}

Expansion expand(const char* name, const Geometry& in, const TileAttrs& a) {
  size_t ndim = std::max(a.reps.size(), in.shape.size());
  Expansion e{{{}, {}, in.offset}, {}};
  for (size_t i = 0; i < ndim; ++i) {
    int64_t rep = i + a.reps.size() >= ndim ? a.reps[i + a.reps.size() - ndim] : 1;
    check(rep >= 0, ErrorKind::kValue, "{}: reps {} has a negative entry", name, to_string(a.reps));
    bool there = i + in.shape.size() >= ndim;
    size_t axis = i + in.shape.size() - ndim;
    e.view.shape.push_back(rep);
    e.view.strides.push_back(0);
    e.view.shape.push_back(there ? in.shape[axis] : 1);
    e.view.strides.push_back(there ? in.strides[axis] : 1);
    e.shape.push_back(multiply_extents(rep, e.view.shape.back(), name));
  }
  return e;
}

Expansion expand(const char* name, const Geometry& in, const RepeatAttrs& a) {
  check(a.repeats >= 0, ErrorKind::kValue, "{}: repeats must not be negative, got {}", name, a.repeats);
  Expansion e{in, {}};
  if (!a.axis) {
    e.view.shape.push_back(a.repeats);
    e.view.strides.push_back(0);
    e.shape = {element_count(e.view.shape)};
    return e;
  }
  size_t axis = static_cast<size_t>(normalize_axis(*a.axis, static_cast<int64_t>(in.shape.size()), name));
  e.shape = in.shape;
  e.shape[axis] = multiply_extents(e.shape[axis], a.repeats, name);
  e.view.shape.insert(axis + 1, a.repeats);
  e.view.strides.insert(axis + 1, 0);
  return e;
}

// The sum of the head over repetitions.
template <class A>
void sum_back(Gradient& g, const A& a) {
  Shape shape = g.input(0).shape(), axes;
  // Strides of 1 and more on every axis of the input, so that stride 0 marks repetitions alone.
  Geometry marked{shape, Strides(shape.size(), 1), 0};
  Geometry view = expand(g.op().name.c_str(), marked, a).view;
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (view.strides[i] == 0) axes.push_back(static_cast<int64_t>(i));
  NDArray head = g.head().shape() == view.shape ? g.head() : call("_reshape_to", {g.head()}, {{"shape", view.shape}});
  NDArray sum = axes.empty() ? head : call("_sum_axes", {head}, {{"axis", axes}});
  g.set(0, sum.shape() == shape ? sum : call("_reshape_to", {sum}, {{"shape", shape}}));
}

template <class A>
OpDef expanding(OpDef g) {
  g.infer = [](Infer& i, const A& a) { i.output(expand(i.name(), packed_geometry(i.shape(0)), a).shape, i.dtype(0)); };
  g.kernel = [](KernelContext& c, const A& a) {
    const Tensor& from = c.input(0);
    copy_viewed(c, from, expand(c.name(), {from.shape, from.strides, 0}, a).view, c.output(0));
  };
  g.gradient = sum_back<A>;
  g.strided_inputs = true;
  g.saves_inputs = kNothing;
  return general<A>(std::move(g));
}

// For the library's own use: its result must not be written.
OpDef broadcast_shape() {
  OpDef op =
      expanding<BroadcastShapeAttrs>({.name = "_broadcast_shape",
                                      .doc = "The array repeated to a shape, as a view with zero strides: read-only.",
                                      .samples = {Sample({uniform({1, 3})}, make_attrs(BroadcastShapeAttrs{{2, 2, 3}})),
                                                  Sample({uniform({})}, make_attrs(BroadcastShapeAttrs{{0, 2}}))}});
  op.as_view = [](const Geometry& in, Geometry& out, const Attrs& a) {
    out = expand("_broadcast_shape", in, a.as<BroadcastShapeAttrs>()).view;
    return true;
  };
  return op;
}

OpDef broadcast_like() {
  return general<BroadcastLikeAttrs>({
      .name = "broadcast_like",
      .aliases = {"_npx_broadcast_like"},
      .python = {"nd.broadcast_like", "npx.broadcast_like", "NDArray.broadcast_like"},
      .doc = R"(lhs repeated to the shape of rhs, or only along lhs_axes to the extents of rhs_axes.

Raises ValueError when an extent is neither 1 nor the one wanted.)",
      .inputs = {"lhs", "rhs"},
      .compose = [](std::span<const NDArray> in, const BroadcastLikeAttrs& a) -> std::vector<NDArray> {
        Shape shape = in[1].shape();
        if (a.lhs_axes || a.rhs_axes) {
          check(a.lhs_axes && a.rhs_axes && !a.lhs_axes->empty() && a.lhs_axes->size() == a.rhs_axes->size(),
                ErrorKind::kValue,
                "broadcast_like: lhs_axes and rhs_axes must be given together, equally long and not empty");
          Shape to = normalize_axes(*a.lhs_axes, in[0].ndim(), "broadcast_like");
          Shape from = normalize_axes(*a.rhs_axes, in[1].ndim(), "broadcast_like");
          shape = in[0].shape();
          for (size_t i = 0; i < to.size(); ++i)
            shape[static_cast<size_t>(to[i])] = in[1].shape()[static_cast<size_t>(from[i])];
        }
        return {call("_npi_broadcast_to", {in[0]}, {{"shape", shape}})};
      },
      .gradient = [](Gradient& g, const BroadcastLikeAttrs&) { g.set(0, sum_to_shape(g.head(), g.input(0).shape())); },
      .saves_inputs = kNothing,
      .samples = {std::vector{uniform({1, 3}), uniform({2, 3})}},
  });
}

}  // namespace

Operators broadcast_operators() {
  return {
      broadcast_shape(),
      expanding<BroadcastToAttrs>(
          {.name = "broadcast_to",
           .python = {"nd.broadcast_to", "NDArray.broadcast_to"},
           .doc = "A new array with axes of extent 1 repeated to a shape, which may have more axes in front.",
           .samples = {{{uniform({1, 3})}, make_attrs(BroadcastToAttrs{{2, 0}})}}}),
      expanding<BroadcastShapeAttrs>(
          {.name = "_npi_broadcast_to",
           .aliases = {"_np_broadcast_to"},
           .python = {"np.broadcast_to", "ndarray.broadcast_to"},
           .doc = "A new array with the elements repeated to a shape, by NumPy's broadcasting rules.",
           .inputs = {"array"},
           .samples = {{{uniform({1, 3})}, make_attrs(BroadcastShapeAttrs{{2, 2, 3}})}}}),
      expanding<BroadcastAxisAttrs>(
          {.name = "broadcast_axis",
           .aliases = {"broadcast_axes"},
           .python = {"nd.broadcast_axis", "nd.broadcast_axes", "NDArray.broadcast_axes"},
           .doc = "A new array with the given axes, of extent 1, repeated to the given sizes.",
           .samples = {{{uniform({1, 3})}, make_attrs(BroadcastAxisAttrs{{0}, {2}})}}}),
      broadcast_like(),
      expanding<TileAttrs>({.name = "tile",
                            .aliases = {"_npi_tile"},
                            .python = {"nd.tile", "np.tile", "NDArray.tile", "ndarray.tile"},
                            .doc = R"(The array repeated as a whole along each axis.

When reps is longer than the array has axes, axes of extent 1 are put in front; when shorter, reps gets leading ones.)",
                            .np_inputs = {"A"},
                            .samples = {{{uniform({2, 3})}, make_attrs(TileAttrs{{2, 1, 2}})}}}),
      expanding<RepeatAttrs>({.name = "repeat",
                              .aliases = {"_np_repeat"},
                              .python = {"nd.repeat", "np.repeat", "NDArray.repeat", "ndarray.repeat"},
                              .doc = "Each element repeated, along one axis or of the flattened array.",
                              .np_inputs = {"a"},
                              .samples = {{{uniform({2, 3})}, make_attrs(RepeatAttrs{2, 1})}}}),
  };
}

}  // namespace headrace
