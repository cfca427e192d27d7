// Operators that give the same elements under another shape.

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/open_extents.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/shape/geometry.h"
#include "ops/shape/reshape_codes.h"

namespace headrace {
namespace {

struct ReshapeToAttrs {
  Shape shape;
  static constexpr auto kFields = fields(field(&ReshapeToAttrs::shape, "shape", "The new shape.").required());
};

struct ReshapeAttrs {
  Shape shape;
  bool reverse = false;
  Shape target_shape = {};
  bool keep_highest = false;
  static constexpr auto kFields = fields(
      field(&ReshapeAttrs::shape, "shape", "The new shape, with codes."),
      field(&ReshapeAttrs::reverse, "reverse", "Whether codes are matched from the last axis backwards."),
      field(&ReshapeAttrs::target_shape, "target_shape", "Deprecated: the new shape, 0 meaning inferred."),
      field(&ReshapeAttrs::keep_highest, "keep_highest", "Deprecated: whether target_shape leaves axis 0 as it is."));
};

struct NpReshapeAttrs {
  Shape newshape;
  std::string order = "C";
  static constexpr auto kFields =
      fields(field(&NpReshapeAttrs::newshape, "newshape", "The new shape; one extent may be -1.").required(),
             field(&NpReshapeAttrs::order, "order", "Order in which elements are read.").one_of("C"));
};

struct NpxReshapeAttrs {
  Shape newshape;
  bool reverse = false;
  std::string order = "C";
  static constexpr auto kFields =
      fields(field(&NpxReshapeAttrs::newshape, "newshape", "The new shape, with codes.").required(),
             field(&NpxReshapeAttrs::reverse, "reverse", "Whether codes are matched from the last axis backwards."),
             field(&NpxReshapeAttrs::order, "order", "Order in which elements are read.").one_of("C"));
};

struct AxisAttrs {
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field(&AxisAttrs::axis, "axis", "Where the new axis goes; negative counts from the end.").required());
};

struct SqueezeAttrs {
  std::optional<Shape> axis;
  static constexpr auto kFields =
      fields(field(&SqueezeAttrs::axis, "axis", "Axes to drop, each of extent 1; None: all of extent 1."));
};

struct OrderAttrs {
  std::string order = "C";
  static constexpr auto kFields =
      fields(field(&OrderAttrs::order, "order", "Order in which elements are read.").one_of("C"));
};

// The gradient of every operator here: the head under the input's shape.
template <class A>
void reshape_back(Gradient& g, const A&) {
  g.set(0, call("_reshape_to", {g.head()}, {{"shape", g.input(0).shape()}}));
}

// The one unknown extent of the input, from the number of elements of the result.
void complete_extent(Completion& c) {
  if (!c.has_rank(0) || !c.has_output_rank()) return;
  Shape in = c.shape(0);
  const Shape& out = c.output();
  if (std::ranges::count(in, -1) != 1 || std::ranges::count(out, -1) != 0) return;
  const int64_t others = -element_count(in), wanted = element_count(out);
  if (others <= 0 || wanted % others != 0) return;
  std::ranges::replace(in, int64_t{-1}, wanted / others);
  c.set(0, in);
}

// The result is the input under `shape`, a function of the input's.
template <class F>
void complete_reshape(Completion& c, F shape) {
  if (c.has_rank(0)) c.set_output(0, shape(c.shape(0)));
  complete_extent(c);
}

bool has_no_codes(const Shape& shape) {
  return !shape.empty() && std::ranges::all_of(shape, [](int64_t extent) { return extent > 0; });
}

template <class A>
OpDef reshape_operator(OpDef g, ViewRule<A> rule, bool copies = false) {
  g.gradient = reshape_back<A>;
  if (!g.complete) g.complete = [](Completion& c, const A&) { complete_extent(c); };
  return view_operator<A>(std::move(g), rule, copies);
}

// target_shape and keep_highest, from before the codes existed.
Shape deprecated_target(const Shape& in, const ReshapeAttrs& a) {
  Shape codes = a.target_shape;
  if (a.keep_highest && !in.empty() && !codes.empty()) codes[0] = in[0];
  for (int64_t& extent : codes)
    if (extent == 0) extent = -1;
  return codes;
}

Shape nd_shape(const Shape& in, const ReshapeAttrs& a, const char* name) {
  const Shape codes = a.shape.empty() && !a.target_shape.empty() ? deprecated_target(in, a) : a.shape;
  return resolve_nd_reshape(in, codes, a.reverse, name);
}

OpDef reshape_to() {
  return reshape_operator<ReshapeToAttrs>(
      {.name = "_reshape_to",
       .doc = "The same elements under exactly this shape.",
       .samples = {Sample({uniform({2, 3, 4})}, make_attrs(ReshapeToAttrs{{4, 6}})),
                   Sample({uniform({0, 3})}, make_attrs(ReshapeToAttrs{{2, 0}}))}},
      [](const char* name, const Geometry& in, Geometry& out, const ReshapeToAttrs& a) {
        check(element_count(in.shape) == element_count(a.shape), ErrorKind::kRuntime,
              "{}: shape {} holds {} elements, but the array {} has {}", name, to_string(a.shape),
              element_count(a.shape), to_string(in.shape), element_count(in.shape));
        return reshaped(in, a.shape, out);
      });
}

OpDef nd_reshape() {
  return reshape_operator<ReshapeAttrs>(
      {.name = "Reshape",
       .aliases = {"reshape"},
       .python = {"nd.reshape", "nd.Reshape", "NDArray.reshape"},
       .doc = R"(The same elements under a new shape; a view where strides allow it.

The shape may hold codes, matched with the input's axes from left to right (from right to left with reverse=True):
0 copies an extent; -1 is inferred from the number of elements (at most once); -2 copies all remaining extents;
-3 multiplies two extents; -4 splits one extent into the next two numbers, one of which may be -1. With reverse=True
the two stand before -4, for the codes are read from right to left, too.
For an input of shape (2, 3, 4): (4, 0, 2) gives (4, 3, 2), (-3, 4) gives (6, 4), (-4, 1, 2, -2) gives (1, 2, 3, 4).
Raises ValueError when the new shape is smaller and MXNetError when it does not fit otherwise.)",
       .complete =
           [](Completion& c, const ReshapeAttrs& a) {
             if (has_no_codes(a.shape)) c.set_output(0, a.shape);
             complete_reshape(c, [&](const Shape& in) { return nd_shape(in, a, c.name()); });
           },
       .samples = {{{uniform({2, 3, 4})}, make_attrs(ReshapeAttrs{.shape = {-3, -4, 2, -1}})}}},
      [](const char* name, const Geometry& in, Geometry& out, const ReshapeAttrs& a) {
        return reshaped(in, nd_shape(in.shape, a, name), out);
      });
}

OpDef np_reshape() {
  return reshape_operator<NpReshapeAttrs>(
      {.name = "_np_reshape",
       .aliases = {"_npi_reshape"},
       .python = {"np.reshape", "ndarray.reshape"},
       .doc = R"(The same elements under a new shape; a view where strides allow it.

One extent may be -1 and is inferred. Raises ValueError when the new shape is smaller and MXNetError when it does not
fit otherwise.)",
       .inputs = {"a"},
       .complete =
           [](Completion& c, const NpReshapeAttrs& a) {
             if (has_no_codes(a.newshape)) c.set_output(0, a.newshape);
             complete_reshape(c, [&](const Shape& in) { return resolve_np_reshape(in, a.newshape, c.name()); });
           },
       .samples = {{{uniform({2, 3, 4})}, make_attrs(NpReshapeAttrs{.newshape = {4, -1}})}}},
      [](const char* name, const Geometry& in, Geometry& out, const NpReshapeAttrs& a) {
        return reshaped(in, resolve_np_reshape(in.shape, a.newshape, name), out);
      });
}

OpDef npx_reshape() {
  return reshape_operator<NpxReshapeAttrs>(
      {.name = "_npx_reshape",
       .python = {"npx.reshape"},
       .doc = R"(The same elements under a new shape; a view where strides allow it.

Codes: -1 is inferred; -2 copies an extent; -3 drops an axis of extent 1; -4 copies all remaining extents; -5 multiplies
two extents; -6 splits one extent into the next two numbers. With reverse=True codes are read and matched from the last
one, so the two numbers stand before -6.
Raises ValueError when the new shape is smaller and MXNetError when it does not fit otherwise.)",
       .inputs = {"a"},
       .complete =
           [](Completion& c, const NpxReshapeAttrs& a) {
             complete_reshape(
                 c, [&](const Shape& in) { return resolve_npx_reshape(in, a.newshape, a.reverse, c.name()); });
           },
       .samples = {{{uniform({2, 3, 4})}, make_attrs(NpxReshapeAttrs{.newshape = {-5, -2}})}}},
      [](const char* name, const Geometry& in, Geometry& out, const NpxReshapeAttrs& a) {
        return reshaped(in, resolve_npx_reshape(in.shape, a.newshape, a.reverse, name), out);
      });
}

OpDef flatten() {
  return reshape_operator<NoAttrs>(
      {.name = "Flatten",
       .aliases = {"flatten", "_npx_batch_flatten"},
       .python = {"nd.flatten", "nd.Flatten", "npx.batch_flatten", "NDArray.flatten"},
       .doc = "All axes but the first become one: (d0, d1, ..., dn) gives (d0, d1*...*dn).",
       .complete =
           [](Completion& c, const NoAttrs&) {
             if (c.has_rank(0) && c.shape(0).empty()) return;
             complete_reshape(c, [](const Shape& in) {
               return Shape{in[0], open_product({in.data() + 1, in.size() - 1})};
             });
           },
       .quantization = quantization({.becomes = "_contrib_quantized_flatten"}),
       .samples = {uniform({2, 3, 4}), uniform({5})}},
      [](const char* name, const Geometry& in, Geometry& out, const NoAttrs&) {
        check(!in.shape.empty(), ErrorKind::kRuntime, "{}: the array needs at least one axis, got shape ()", name);
        int64_t rest = 1;
        for (size_t i = 1; i < in.shape.size(); ++i) rest *= in.shape[i];
        return reshaped(in, Shape{in.shape[0], rest}, out);
      });
}

bool flat_rule(const char*, const Geometry& in, Geometry& out, const OrderAttrs&) {
  return reshaped(in, Shape{element_count(in.shape)}, out);
}

Spelling spelled_flat(const char* op) { return {op, {{"newshape", Shape{-1}}}}; }

OpDef ravel() {
  return reshape_operator<OrderAttrs>(
      {.name = "_np_ravel",
       .python = {"np.ravel"},
       .doc = "The elements as one axis, row-major; a view where strides allow it.",
       .inputs = {"x"},
       .spelling = [](const OrderAttrs&, size_t) { return spelled_flat("_npx_reshape"); },
       .samples = {uniform({2, 3})}},
      flat_rule);
}

OpDef flatten_copy() {
  return reshape_operator<OrderAttrs>(
      {.name = "_np_flatten",
       .python = {"ndarray.flatten"},
       .doc = "A new array with the elements as one axis, row-major.",
       .inputs = {"a"},
       .spelling = [](const OrderAttrs&, size_t) { return spelled_flat("_np_reshape"); },
       .samples = {uniform({2, 3})}},
      flat_rule, true);
}

OpDef expand_dims() {
  return reshape_operator<AxisAttrs>(
      {.name = "expand_dims",
       .aliases = {"_npi_expand_dims"},
       .python = {"nd.expand_dims", "np.expand_dims", "NDArray.expand_dims", "ndarray.expand_dims"},
       .doc = "A view with a new axis of extent 1 at `axis`. Raises ValueError unless -ndim-1 <= axis <= ndim.",
       .np_inputs = {"a"},
       .complete =
           [](Completion& c, const AxisAttrs& a) {
             if (c.has_rank(0)) {
               Shape out = c.shape(0);
               const auto ndim = static_cast<int64_t>(out.size()) + 1;
               out.insert(static_cast<size_t>(normalize_axis(a.axis, ndim, c.name())), 1);
               c.set_output(0, out);
             }
             if (!c.has_output_rank() || c.output().empty()) return;
             Shape in = c.output();
             in.erase(static_cast<size_t>(normalize_axis(a.axis, static_cast<int64_t>(in.size()), c.name())));
             c.set(0, in);
           },
       .samples = {{{uniform({2, 3})}, make_attrs(AxisAttrs{.axis = 1})}}},
      [](const char* name, const Geometry& in, Geometry& out, const AxisAttrs& a) {
        int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(in.shape.size()) + 1, name);
        out = in;
        out.shape.insert(static_cast<size_t>(axis), 1);
        out.strides.insert(static_cast<size_t>(axis), 0);
        return true;
      });
}

Geometry squeezed(const char* name, const Geometry& in, const std::optional<Shape>& axis) {
  Shape drop;
  const bool is_number = in.shape.empty() && axis && (*axis == Shape{0} || *axis == Shape{-1});  // as in NumPy
  if (axis && !is_number) {
    drop = normalize_axes(*axis, in.shape.size(), name);
    for (int64_t d : drop)
      check(in.shape[static_cast<size_t>(d)] == 1, ErrorKind::kRuntime,
            "{}: axis {} of shape {} has extent {}; only axes of extent 1 can be dropped", name, d, to_string(in.shape),
            in.shape[static_cast<size_t>(d)]);
  }
  Geometry out{{}, {}, in.offset};
  for (size_t i = 0; i < in.shape.size(); ++i) {
    bool dropped = axis ? std::find(drop.begin(), drop.end(), static_cast<int64_t>(i)) != drop.end() : in.shape[i] == 1;
    if (dropped) continue;
    out.shape.push_back(in.shape[i]);
    out.strides.push_back(in.strides[i]);
  }
  return out;
}

OpDef nd_squeeze() {
  return reshape_operator<SqueezeAttrs>(
      {.name = "squeeze",
       .python = {"nd.squeeze", "NDArray.squeeze"},
       .doc = "A view without axes of extent 1 (those named, or all). One axis is kept when nothing else remains.",
       .samples = {{{uniform({2, 1, 3, 1})}, make_attrs(SqueezeAttrs{.axis = Shape{1}})}, uniform({1, 1})}},
      [](const char* name, const Geometry& in, Geometry& out, const SqueezeAttrs& a) {
        out = squeezed(name, in, a.axis);
        if (out.shape.empty()) out = {Shape{1}, Strides{1}, in.offset};
        return true;
      });
}

OpDef np_squeeze() {
  return reshape_operator<SqueezeAttrs>(
      {.name = "_np_squeeze",
       .aliases = {"_npi_squeeze"},
       .python = {"np.squeeze", "ndarray.squeeze"},
       .doc = "A view without axes of extent 1: those named, or all.",
       .inputs = {"a"},
       .samples = {{{uniform({2, 1, 3, 1})}, make_attrs(SqueezeAttrs{.axis = Shape{1}})}, uniform({1, 1})}},
      [](const char* name, const Geometry& in, Geometry& out, const SqueezeAttrs& a) {
        out = squeezed(name, in, a.axis);
        return true;
      });
}

// --- reshape_like ----------------------------------------------------------------------------------------------------

struct ReshapeLikeAttrs {
  std::optional<int64_t> lhs_begin, lhs_end, rhs_begin, rhs_end;
  static constexpr auto kFields =
      fields(field(&ReshapeLikeAttrs::lhs_begin, "lhs_begin", "First axis of lhs that is replaced; None: 0."),
             field(&ReshapeLikeAttrs::lhs_end, "lhs_end", "Axis after the last that is replaced; None: ndim."),
             field(&ReshapeLikeAttrs::rhs_begin, "rhs_begin", "First axis of rhs whose extent is taken; None: 0."),
             field(&ReshapeLikeAttrs::rhs_end, "rhs_end", "Axis after the last that is taken; None: ndim."));
};

std::pair<size_t, size_t> axis_range(std::optional<int64_t> begin, std::optional<int64_t> end, const Shape& shape) {
  int64_t ndim = static_cast<int64_t>(shape.size());
  auto bound = [&](std::optional<int64_t> given, int64_t missing) {
    int64_t axis = given ? (*given < 0 ? *given + ndim : *given) : missing;
    check(axis >= 0 && axis <= ndim, ErrorKind::kRuntime, "reshape_like: axis {} is outside an array of {} axes",
          given ? *given : axis, ndim);
    return axis;
  };
  int64_t first = bound(begin, 0), last = bound(end, ndim);
  check(first <= last, ErrorKind::kRuntime, "reshape_like: the range of axes [{}, {}) is empty backwards", first, last);
  return {static_cast<size_t>(first), static_cast<size_t>(last)};
}

OpDef reshape_like() {
  return general<ReshapeLikeAttrs>({
      .name = "reshape_like",
      .aliases = {"_npx_reshape_like"},
      .python = {"nd.reshape_like", "npx.reshape_like", "NDArray.reshape_like"},
      .doc = R"(The elements of lhs under the shape of rhs.

With lhs_begin/lhs_end and rhs_begin/rhs_end only that range of lhs's axes is replaced, by that range of rhs's extents.
Raises MXNetError when the numbers of elements differ.)",
      .inputs = {"lhs", "rhs"},
      .compose = [](std::span<const NDArray> in, const ReshapeLikeAttrs& a) -> std::vector<NDArray> {
        const Shape &left = in[0].shape(), &right = in[1].shape();
        auto [left_begin, left_end] = axis_range(a.lhs_begin, a.lhs_end, left);
        auto [right_begin, right_end] = axis_range(a.rhs_begin, a.rhs_end, right);
        Shape shape(left.begin(), left.begin() + left_begin);
        for (size_t i = right_begin; i < right_end; ++i) shape.push_back(right[i]);
        for (size_t i = left_end; i < left.size(); ++i) shape.push_back(left[i]);
        check(element_count(shape) == in[0].size(), ErrorKind::kRuntime,
              "reshape_like: lhs {} cannot take shape {} (from rhs {})", to_string(left), to_string(shape),
              to_string(right));
        return {call("_reshape_to", {in[0]}, {{"shape", shape}})};
      },
      .gradient = reshape_back<ReshapeLikeAttrs>,
      .saves_inputs = kNothing,
      .samples = {std::vector{uniform({2, 6}), uniform({3, 4})}},
  });
}

// --- atleast_nd ------------------------------------------------------------------------------------------------------

// NumPy's rule: axes of extent 1 are added in front; for three dimensions also behind.
Shape padded_to(const Shape& in, size_t ndim) {
  if (in.size() >= ndim) return in;
  if (in.empty()) return Shape(ndim, 1);
  if (in.size() == 1) return ndim == 2 ? Shape{1, in[0]} : Shape{1, in[0], 1};
  return Shape{in[0], in[1], 1};
}

struct AtLeastAttrs {
  int64_t num_args = 1;
  static constexpr auto kFields =
      fields(field(&AtLeastAttrs::num_args, "num_args", "Number of arrays; 1.").counts_inputs().of_files());
};

template <size_t kAxes>
OpDef atleast(const char* name, const char* python, const char* doc) {
  return reshape_operator<AtLeastAttrs>({.name = name,
                                         .python = {python},
                                         .doc = doc,
                                         .inputs = {"ary"},
                                         .spelling =
                                             [name](const AtLeastAttrs& a, size_t) {
                                               return Spelling{name, {{"num_args", a.num_args}}};
                                             },
                                         .samples = {uniform({3}), uniform({})}},
                                        [](const char*, const Geometry& in, Geometry& out, const AtLeastAttrs&) {
                                          return reshaped(in, padded_to(in.shape, kAxes), out);
                                        });
}

}  // namespace

Operators reshape_operators() {
  return {reshape_to(),
          nd_reshape(),
          np_reshape(),
          npx_reshape(),
          flatten(),
          ravel(),
          flatten_copy(),
          expand_dims(),
          nd_squeeze(),
          np_squeeze(),
          reshape_like(),
          atleast<1>("_np_atleast_1d", "np.atleast_1d", "The array with at least one axis."),
          atleast<2>("_np_atleast_2d", "np.atleast_2d", "The array with at least two axes."),
          atleast<3>("_np_atleast_3d", "np.atleast_3d", "The array with at least three axes.")};
}

}  // namespace headrace
