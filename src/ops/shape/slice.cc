// Operators that take a regular part of an array: slices, flips, diagonals of slices, and assignment to slices.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ndarray/strided_copy.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/spelling.h"
#include "ops/shape/geometry.h"
#include "ops/shape/slice_range.h"
#include "ops/sparse/sparse_slice.h"

namespace headrace {

SliceRange slice_range(std::optional<int64_t> begin, std::optional<int64_t> end, std::optional<int64_t> step,
                       int64_t extent, const char* operation) {
  int64_t by = step.value_or(1);
  check(by != 0, ErrorKind::kValue, "{}: a slice's step cannot be 0", operation);
  int64_t least = by > 0 ? 0 : -1, most = by > 0 ? extent : extent - 1;
  auto place = [&](std::optional<int64_t> given, int64_t missing) {
    if (!given) return missing;
    return std::clamp(*given < 0 ? *given + extent : *given, least, most);
  };
  int64_t first = place(begin, by > 0 ? 0 : extent - 1), last = place(end, by > 0 ? extent : -1);
  const int64_t distance = by > 0 ? last - first : first - last;
  const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
  return {first, by, distance > 0 ? static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1 : 0};
}

namespace {

struct SliceAttrs {
  OptionalInts begin, end, step;
  static constexpr auto kFields =
      fields(field(&SliceAttrs::begin, "begin", "First index on each axis; None: from the edge.").required(),
             field(&SliceAttrs::end, "end", "Index after the last on each axis; None: to the edge.").required(),
             field(&SliceAttrs::step, "step", "Step on each axis; None: 1."));
};

struct SliceAxisAttrs {
  int64_t axis = 0, begin = 0;
  std::optional<int64_t> end;
  static constexpr auto kFields =
      fields(field(&SliceAxisAttrs::axis, "axis", "The axis to slice.").required(),
             field(&SliceAxisAttrs::begin, "begin", "First index.").required(),
             field(&SliceAxisAttrs::end, "end", "Index after the last; None: to the edge.").required());
};

struct SliceLikeAttrs {
  Shape axes;
  static constexpr auto kFields = fields(field(&SliceLikeAttrs::axes, "axes", "Axes to slice; empty: all."));
};

struct FlipAttrs {
  Shape axis;
  static constexpr auto kFields = fields(field(&FlipAttrs::axis, "axis", "Axes to reverse.").required());
};

struct NpFlipAttrs {
  std::optional<Shape> axis;
  static constexpr auto kFields = fields(field(&NpFlipAttrs::axis, "axis", "Axes to reverse; None: all."));
};

// The range taken on every axis.
using Ranges = SmallVector<SliceRange, 6>;

Ranges whole(const Shape& shape) {
  Ranges ranges;
  for (int64_t extent : shape) ranges.push_back({0, 1, extent});
  return ranges;
}

std::optional<int64_t> entry(const OptionalInts& list, size_t i) { return i < list.size() ? list[i] : std::nullopt; }

Ranges ranges_of(const SliceAttrs& a, const Shape& shape, const char* name) {
  check(a.begin.size() <= shape.size() && a.begin.size() == a.end.size(), ErrorKind::kRuntime,
        "{}: begin has {} entries and end {}; they must agree and not exceed the {} axes of shape {}", name,
        a.begin.size(), a.end.size(), shape.size(), to_string(shape));
  Ranges ranges = whole(shape);
  for (size_t i = 0; i < a.begin.size(); ++i)
    ranges[i] = slice_range(a.begin[i], a.end[i], entry(a.step, i), shape[i], name);
  return ranges;
}

Ranges ranges_of(const SliceAxisAttrs& a, const Shape& shape, const char* name) {
  Ranges ranges = whole(shape);
  size_t axis = static_cast<size_t>(normalize_axis(a.axis, static_cast<int64_t>(shape.size()), name));
  const int64_t extent = shape[axis];
  const int64_t begin = a.begin < 0 ? a.begin + extent : a.begin, end = a.end.value_or(extent),
                last = end < 0 ? end + extent : end;
  check(extent <= 0 || (begin >= 0 && begin <= last && last <= extent), ErrorKind::kRuntime,
        "{}: begin={} and end={} must lie, in this order, within the extent {} of axis {}; shape {}", name, a.begin,
        end, extent, axis, to_string(shape));
  ranges[axis] = slice_range(a.begin, a.end, std::nullopt, extent, name);
  return ranges;
}

Ranges flipped(const Shape& shape, const Shape& axes, const char* name) {
  Ranges ranges = whole(shape);
  for (int64_t axis : normalize_axes(axes, shape.size(), name)) {
    int64_t extent = shape[static_cast<size_t>(axis)];
    ranges[static_cast<size_t>(axis)] = {extent - 1, -1, extent};
  }
  return ranges;
}

Ranges ranges_of(const FlipAttrs& a, const Shape& shape, const char* name) { return flipped(shape, a.axis, name); }

Ranges ranges_of(const NpFlipAttrs& a, const Shape& shape, const char* name) {
  return flipped(shape, a.axis ? *a.axis : reversed_axes(shape.size()), name);
}

Geometry cut(const Geometry& in, const Ranges& ranges) {
  Geometry out = in;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].count > 0) out.offset += ranges[i].begin * in.strides[i];
    // A step that is too large to multiply takes one element at most.
    if (__builtin_mul_overflow(in.strides[i], ranges[i].step, &out.strides[i])) out.strides[i] = in.strides[i];
    out.shape[i] = ranges[i].count;
  }
  return out;
}

// The key of _basic_index and _basic_index_scatter that selects the same elements.
Shape index_key(const Ranges& ranges) {
  Shape key;
  for (const SliceRange& range : ranges)
    for (int64_t value : {int64_t{1}, range.begin, range.step, range.count}) key.push_back(value);
  return key;
}

bool has_no_steps(const SliceAttrs& a) {
  return std::ranges::all_of(a.step, [](const std::optional<int64_t>& step) { return step.value_or(1) == 1; });
}

void slice_matrix(SparseContext& c, const SliceAttrs& a) {
  const Ranges ranges = ranges_of(a, c.input(0).shape(), c.name());
  slice_csr(c, ranges[0], ranges[1]);
}

// Of an axis whose extent is not known nothing follows.
template <class A>
void complete_slice(Completion& c, const A& a) {
  if (!c.has_rank(0)) return;
  Shape known = c.shape(0), result;
  std::ranges::replace(known, int64_t{-1}, int64_t{0});
  const Ranges ranges = ranges_of(a, known, c.name());
  for (size_t i = 0; i < ranges.size(); ++i) result.push_back(c.shape(0)[i] == -1 ? -1 : ranges[i].count);
  c.set_output(0, result);
}

template <class A>
OpDef slicing(OpDef g) {
  g.complete = complete_slice<A>;
  g.gradient = [name = g.name](Gradient& d, const A& a) {
    const Shape& shape = d.input(0).shape();
    d.set(0, call("_basic_index_scatter", {d.head()},
                  {{"key", index_key(ranges_of(a, shape, name.c_str()))}, {"shape", shape}}));
  };
  return view_operator<A>(std::move(g), [](const char* name, const Geometry& in, Geometry& out, const A& a) {
    out = cut(in, ranges_of(a, in.shape, name));
    return true;
  });
}

// --- slice_like ------------------------------------------------------------------------------------------------------

Ranges ranges_like(const SliceLikeAttrs& a, const Shape& shape, const Shape& like) {
  Ranges ranges = whole(shape);
  auto take = [&](int64_t axis, int64_t from) {
    size_t i = static_cast<size_t>(axis);
    int64_t extent = like[static_cast<size_t>(from)];
    check(extent <= shape[i], ErrorKind::kRuntime, "slice_like: axis {} of {} has fewer than the {} elements of {}",
          axis, to_string(shape), extent, to_string(like));
    ranges[i].count = extent;
  };
  if (a.axes.empty()) {
    check(shape.size() == like.size(), ErrorKind::kRuntime,
          "slice_like: shapes {} and {} must have equally many axes; name the axes to slice otherwise",
          to_string(shape), to_string(like));
    for (size_t i = 0; i < shape.size(); ++i) take(static_cast<int64_t>(i), static_cast<int64_t>(i));
  } else {
    for (int64_t axis : a.axes)
      take(normalize_axis(axis, static_cast<int64_t>(shape.size()), "slice_like"),
           normalize_axis(axis, static_cast<int64_t>(like.size()), "slice_like"));
  }
  return ranges;
}

OpDef slice_like() {
  return general<SliceLikeAttrs>({
      .name = "slice_like",
      .aliases = {"_npx_slice_like"},
      .python = {"nd.slice_like", "npx.slice_like", "NDArray.slice_like"},
      .doc = R"(A view of the first elements of data, as many along each axis as shape_like has.

Raises MXNetError when shape_like is longer on such an axis.)",
      .inputs = {"data", "shape_like"},
      .compose = [](std::span<const NDArray> in, const SliceLikeAttrs& a) -> std::vector<NDArray> {
        Ranges ranges = ranges_like(a, in[0].shape(), in[1].shape());
        return {call("_basic_index", {in[0]}, {{"key", index_key(ranges)}})};
      },
      .gradient =
          [](Gradient& g, const SliceLikeAttrs& a) {
            const Shape& shape = g.input(0).shape();
            g.set(0, call("_basic_index_scatter", {g.head()},
                          {{"key", index_key(ranges_like(a, shape, g.input(1).shape()))}, {"shape", shape}}));
          },
      .saves_inputs = kNothing,
      .samples = {std::vector{uniform({3, 4}), uniform({2, 3})}},
  });
}

// --- assignment ------------------------------------------------------------------------------------------------------

struct SliceAssignScalarAttrs {
  double scalar = 0;
  OptionalInts begin, end, step;
  static constexpr auto kFields = fields(
      field(&SliceAssignScalarAttrs::scalar, "scalar", "The value to write."),
      field(&SliceAssignScalarAttrs::begin, "begin", "First index on each axis; None: from the edge.").required(),
      field(&SliceAssignScalarAttrs::end, "end", "Index after the last on each axis; None: to the edge.").required(),
      field(&SliceAssignScalarAttrs::step, "step", "Step on each axis; None: 1."));
};

Shape assign_key(const OptionalInts& begin, const OptionalInts& end, const OptionalInts& step, const Shape& shape,
                 const char* name) {
  return index_key(ranges_of(SliceAttrs{begin, end, step}, shape, name));
}

OpDef slice_assign() {
  return general<SliceAttrs>({
      .name = "_slice_assign",
      .aliases = {"_crop_assign", "_npi_slice_assign"},
      .python = {"nd._internal._slice_assign", "nd._internal._crop_assign"},
      .doc = "A copy of lhs in which the slice begin:end:step holds rhs.",
      .inputs = {"lhs", "rhs"},
      .compose = [](std::span<const NDArray> in, const SliceAttrs& a) -> std::vector<NDArray> {
        Shape key = assign_key(a.begin, a.end, a.step, in[0].shape(), "_slice_assign");
        const Shape place = call("_basic_index", {in[0]}, {{"key", key}}).shape();
        check(in[1].shape() == place, ErrorKind::kRuntime,
              "_slice_assign: rhs has shape {}, but the slice of lhs has shape {}; give a rhs of that shape",
              to_string(in[1].shape()), to_string(place));
        return {call("_basic_index_assign", {in[0], in[1]}, {{"key", key}, {"shape", in[0].shape()}})};
      },
      .samples = {{{uniform({3, 4}), uniform({2, 4})}, make_attrs(SliceAttrs{{1}, {3}, {}})}},
  });
}

OpDef slice_assign_scalar() {
  return general<SliceAssignScalarAttrs>({
      .name = "_slice_assign_scalar",
      .aliases = {"_crop_assign_scalar", "_npi_slice_assign_scalar"},
      .python = {"nd._internal._slice_assign_scalar", "nd._internal._crop_assign_scalar"},
      .doc = "A copy of data in which the slice begin:end:step holds a number.",
      .compose = [](std::span<const NDArray> in, const SliceAssignScalarAttrs& a) -> std::vector<NDArray> {
        Shape key = assign_key(a.begin, a.end, a.step, in[0].shape(), "_slice_assign_scalar");
        NDArray value = full({}, a.scalar, in[0].dtype(), in[0].device());
        return {call("_basic_index_assign", {in[0], value}, {{"key", key}, {"shape", in[0].shape()}})};
      },
      .samples = {{{uniform({3, 4})}, make_attrs(SliceAssignScalarAttrs{1.5, {1}, {3}, {}})}},
  });
}

}  // namespace

Operators slice_operators() {
  return {
      slicing<SliceAttrs>(
          {.name = "slice",
           .aliases = {"crop", "_npx_slice"},
           .python = {"nd.slice", "nd.crop", "npx.slice", "NDArray.slice"},
           .doc = R"(A view of the elements begin:end:step along the first axes, with Python's slice rules.

Example: for x of shape (3, 4), slice(x, begin=(0, None), end=(2, None), step=(None, -1)) is x[0:2, ::-1]. A part of a csr
matrix is a csr matrix of its own.)",
           .storage_forms = {{{StorageKind::kCsr}, {StorageKind::kCsr}, slice_matrix, has_no_steps}},
           .samples = {{{uniform({3, 4})}, make_attrs(SliceAttrs{{0, 3}, {2, {}}, {{}, -2}})}}}),
      slicing<SliceAxisAttrs>({.name = "slice_axis",
                               .aliases = {"_npi_slice_axis"},
                               .python = {"nd.slice_axis", "NDArray.slice_axis"},
                               .doc =
                                   "A view of the elements begin:end along one axis. Raises MXNetError where these lie "
                                   "beyond its ends.",
                               .samples = {{{uniform({3, 4})}, make_attrs(SliceAxisAttrs{1, 1, -1})}}}),
      slice_like(),
      slicing<FlipAttrs>({.name = "reverse",
                          .aliases = {"flip"},
                          .python = {"nd.flip", "nd.reverse", "NDArray.flip"},
                          .doc = "A view with the elements in reverse order along the given axes.",
                          .samples = {{{uniform({3, 4})}, make_attrs(FlipAttrs{{0}})}}}),
      slicing<NpFlipAttrs>({.name = "_npi_flip",
                            .python = {"np.flip"},
                            .doc = "A view with the elements in reverse order along the given axes, or all.",
                            .inputs = {"m"},
                            .spelling =
                                [](const NpFlipAttrs& a, size_t) {
                                  return Spelling{"_npi_flip", {{"axis", or_none(a.axis)}}};
                                },
                            .samples = {uniform({3, 4})}}),
      slice_assign(),
      slice_assign_scalar(),
  };
}

}  // namespace headrace
