// Operators that cut an array into views of its parts.

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "op/trace.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct SliceChannelAttrs {
  int64_t num_outputs = 1;
  int64_t axis = 1;
  bool squeeze_axis = false;
  static constexpr auto kFields =
      fields(field(&SliceChannelAttrs::num_outputs, "num_outputs", "Number of parts.").required().between(1, kMostInt),
             field(&SliceChannelAttrs::axis, "axis", "The axis to cut."),
             field(&SliceChannelAttrs::squeeze_axis, "squeeze_axis",
                   "Whether to drop the axis; each part must be one element long then."));
};

template <int64_t kAxis>
struct SplitAttrsAt {
  Shape indices;
  int64_t axis = kAxis;
  bool squeeze_axis = false;
  int64_t sections = 0;
  static constexpr auto kFields =
      fields(field(&SplitAttrsAt::indices, "indices", "Where the parts after the first begin, when sections is 0."),
             field(&SplitAttrsAt::axis, "axis",
                   kAxis == 0 ? "The axis to cut." : "The axis to cut, unless there is one only."),
             field(&SplitAttrsAt::squeeze_axis, "squeeze_axis",
                   "Whether to drop the axis; each part must be one element long then."),
             field(&SplitAttrsAt::sections, "sections", "Number of parts, the first longer by one if need be; or 0."));
};
using SplitAttrs = SplitAttrsAt<0>;
using HsplitAttrs = SplitAttrsAt<1>;  // of a vector along its only axis

// Positions on the axis: part i is [edges[i], edges[i + 1]).
struct Parts {
  int64_t axis;
  bool squeeze;
  Shape edges;
};

void check_sections(int64_t sections, const char* name) {
  check(sections > 0, ErrorKind::kValue, "{}: the number of parts must be positive, got {}", name, sections);
}

Shape equal_edges(int64_t extent, int64_t sections, const char* name) {
  check_sections(sections, name);
  check(extent % sections == 0, ErrorKind::kValue,
        "{}: an axis of extent {} cannot be cut into {} equal parts; give a divisor or indices", name, extent,
        sections);
  Shape edges;
  for (int64_t i = 0; i <= sections; ++i) edges.push_back(i * (extent / sections));
  return edges;
}

Shape nearly_equal_edges(int64_t extent, int64_t sections) {
  Shape edges{0};
  for (int64_t i = 0; i < sections; ++i)
    edges.push_back(edges.back() + extent / sections + (i < extent % sections ? 1 : 0));
  return edges;
}

Parts parts_of(const SliceChannelAttrs& a, const Shape& shape, const char* name) {
  int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), name);
  return {axis, a.squeeze_axis, equal_edges(shape[static_cast<size_t>(axis)], a.num_outputs, name)};
}

Parts parts_of(const SplitAttrs& a, const Shape& shape, const char* name) {
  int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), name);
  int64_t extent = shape[static_cast<size_t>(axis)];
  if (a.sections > 0) return {axis, a.squeeze_axis, nearly_equal_edges(extent, a.sections)};
  Parts parts{axis, a.squeeze_axis, {}};
  // A leading 0 only says where the first part begins, as symbol files write it.
  if (a.indices.empty() || a.indices[0] != 0) parts.edges.push_back(0);
  for (int64_t index : a.indices)
    parts.edges.push_back(std::clamp(index < 0 ? index + extent : index, int64_t{0}, extent));
  parts.edges.push_back(extent);
  check(std::is_sorted(parts.edges.begin(), parts.edges.end()), ErrorKind::kValue,
        "{}: the indices {} must not descend", name, to_string(a.indices));
  return parts;
}

SplitAttrs as_split(const HsplitAttrs& a, size_t ndim) {
  return {a.indices, ndim == 1 ? 0 : a.axis, a.squeeze_axis, a.sections};
}

Parts parts_of(const HsplitAttrs& a, const Shape& shape, const char* name) {
  return parts_of(as_split(a, shape.size()), shape, name);
}

size_t count_of(const SliceChannelAttrs& a) { return static_cast<size_t>(std::max<int64_t>(1, a.num_outputs)); }
size_t count_of(const SplitAttrs& a) {
  if (a.sections > 0) return static_cast<size_t>(a.sections);
  return a.indices.size() + (a.indices.empty() || a.indices[0] != 0 ? 1 : 0);
}
size_t count_of(const HsplitAttrs& a) { return count_of(as_split(a, 2)); }

template <class A>
size_t cut_axis(const A& a, size_t ndim, const char* name) {
  return static_cast<size_t>(normalize_axis(a.axis, static_cast<int64_t>(ndim), name));
}
size_t cut_axis(const HsplitAttrs& a, size_t ndim, const char* name) { return cut_axis(as_split(a, ndim), ndim, name); }

template <class A>
std::vector<NDArray> split(const NDArray& array, const A& a, const char* name) {
  Parts parts = parts_of(a, array.shape(), name);
  Geometry whole{array.shape(), array.strides(), array.view()->offset()};
  std::vector<NDArray> results;
  for (size_t i = 0; i + 1 < parts.edges.size(); ++i) {
    int64_t count = parts.edges[i + 1] - parts.edges[i];
    Geometry part = sliced(whole, parts.axis, parts.edges[i], 1, count);
    if (parts.squeeze) {
      check(count == 1, ErrorKind::kRuntime, "{}: squeeze_axis needs parts of extent 1, got {} on axis {} of {}", name,
            count, parts.axis, to_string(array.shape()));
      part.shape.erase(static_cast<size_t>(parts.axis));
      part.strides.erase(static_cast<size_t>(parts.axis));
    }
    if (is_abstract(array)) {
      const NDArray slice =
          call("slice_axis", {array}, {{"axis", parts.axis}, {"begin", parts.edges[i]}, {"end", parts.edges[i + 1]}});
      results.push_back(parts.squeeze ? call("_reshape_to", {slice}, {{"shape", part.shape}}) : slice);
      continue;
    }
    results.push_back(view_of(array, part));
  }
  return results;
}

// The parts of the gradient side by side, zeros where nothing arrived.
void join_back(Gradient& g, const Parts& parts) {
  std::vector<NDArray> heads;
  Device device;
  for (size_t i = 0; i + 1 < parts.edges.size(); ++i)
    if (g.has_head(i)) device = g.head(i).device();
  for (size_t i = 0; i + 1 < parts.edges.size(); ++i) {
    Shape shape = g.input(0).shape();
    shape[static_cast<size_t>(parts.axis)] = parts.edges[i + 1] - parts.edges[i];
    NDArray head = g.has_head(i) ? g.head(i) : full(g.output(i).shape(), 0, g.input(0).dtype(), device);
    heads.push_back(parts.squeeze ? call("_reshape_to", {head}, {{"shape", shape}}) : head);
  }
  const OpDef& concat = find_op("Concat");
  g.set(0, invoke_all(concat, attrs_of(concat, {{"dim", parts.axis}}), heads)[0]);
}

// Where the extent that is cut is not known, those of the parts are not either.
template <class A>
void complete_split(Completion& c, const A& a) {
  for (size_t k = 0; k < count_of(a); ++k) {
    if (!c.has_output_rank(k)) continue;
    Shape in = c.output(k);
    const size_t axis = cut_axis(a, in.size() + (a.squeeze_axis ? 1 : 0), c.name());
    if (a.squeeze_axis)
      in.insert(axis, -1);
    else
      in[axis] = -1;
    c.set(0, in);
  }
  if (!c.has_rank(0)) return;
  const Shape& in = c.shape(0);
  const size_t axis = cut_axis(a, in.size(), c.name());
  const Shape edges = in[axis] == -1 ? Shape{} : parts_of(a, in, c.name()).edges;
  for (size_t k = 0; k < count_of(a); ++k) {
    Shape part = in;
    if (!edges.empty()) part[axis] = edges[k + 1] - edges[k];
    if (a.squeeze_axis) part.erase(axis);
    c.set_output(k, part);
  }
}

template <class A>
OpDef splitting(OpDef g) {
  const std::string name = g.name;
  g.complete = complete_split<A>;
  g.outputs = 0;
  g.output_count = [](const A& a) { return count_of(a); };
  g.compose = [name](std::span<const NDArray> in, const A& a) { return split(in[0], a, name.c_str()); };
  g.gradient = [name](Gradient& d, const A& a) { join_back(d, parts_of(a, d.input(0).shape(), name.c_str())); };
  g.saves_inputs = kNothing;
  return general<A>(std::move(g));
}

}  // namespace

Operators split_operators() {
  return {
      splitting<SliceChannelAttrs>(
          {.name = "SliceChannel",
           .aliases = {"split"},
           .python = {"nd.split", "nd.SliceChannel", "NDArray.split"},
           .doc = R"(Views of equal parts of the array along one axis; a list when there are several.

Raises ValueError unless num_outputs divides the extent of the axis.)",
           .samples = {{{uniform({2, 6})}, make_attrs(SliceChannelAttrs{.num_outputs = 3})}}}),
      splitting<SplitAttrs>(
          {.name = "_split_v2",
           .aliases = {"_npi_split", "_npi_dsplit"},
           .python = {"nd._internal._split_v2"},
           .doc = "Views of parts of the array along one axis: nearly equal ones, or cut at given indices.",
           .samples = {{{uniform({6, 2})}, make_attrs(SplitAttrs{.indices = {2, 3}})}}}),
      splitting<HsplitAttrs>(
          {.name = "_npi_hsplit",
           .doc = "Views of parts of the array along its second axis, of a vector along its only one.",
           .samples = {{{uniform({2, 7})}, make_attrs(HsplitAttrs{.sections = 3})}}}),
  };
}

}  // namespace headrace
