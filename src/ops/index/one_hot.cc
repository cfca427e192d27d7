// one_hot, index_copy, batch_take and conversions between flat and multi-dimensional indices.
#include <algorithm>

#include "base/check.h"
#include "op/copy_part.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/creation/creation.h"
#include "ops/index/gather.h"
#include "ops/index/indices.h"

namespace headrace {
namespace {

std::vector<int64_t> integers_of(const Tensor& tensor) {
  std::vector<int64_t> result(static_cast<size_t>(tensor.size));
  load_function(tensor.dtype, ComputeType::kInt64)(result.data(), tensor.data, 1, tensor.size);
  return result;
}

void store_integers(const std::vector<int64_t>& from, const Tensor& to) {
  store_function(ComputeType::kInt64, to.dtype)(from.data(), to.data, 1, to.size);
}

struct OneHotAttrs {
  int64_t depth = 0;
  double on_value = 1, off_value = 0;
  DType dtype = DType::kFloat32;
  static constexpr auto kFields = fields(field(&OneHotAttrs::depth, "depth", "Length of each row.").required(),
                                         field(&OneHotAttrs::on_value, "on_value", "Value at the index."),
                                         field(&OneHotAttrs::off_value, "off_value", "Value elsewhere."),
                                         field(&OneHotAttrs::dtype, "dtype", "dtype of the result."));
};

OpDef one_hot() {
  return general<OneHotAttrs>(
      {.name = "one_hot",
       .aliases = {"_npx_one_hot"},
       .python = {"nd.one_hot", "npx.one_hot", "NDArray.one_hot"},
       .doc = "Rows of off_value with on_value at each index, of shape indices.shape + "
              "(depth,). An index out of range gives "
              "a row of off_value. Raises ValueError for a negative depth.",
       .inputs = {"indices"},
       .complete =
           [](Completion& c, const OneHotAttrs& a) {
             if (!c.has_rank(0)) return;
             Shape result = c.shape(0);
             result.push_back(a.depth);
             c.set_output(0, result);
           },
       .infer =
           [](Infer& i, const OneHotAttrs& a) {
             i.require(a.depth >= 0, ErrorKind::kValue, "depth must not be negative, got {}", a.depth);
             Shape result = i.shape(0);
             result.push_back(a.depth);
             i.output(result, a.dtype);
             i.cost(100 + static_cast<double>(element_count(result)) * 0.4);
           },
       .kernel = [](KernelContext& c,
                    const OneHotAttrs& a) { mark_positions(c, c.input(0), a.on_value, a.off_value, c.output(0)); },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({integers({2, 3}, 0, 4)}, make_attrs(OneHotAttrs{.depth = 4}))}});
}

OpDef fill_element() {
  return general({.name = "fill_element_0index",
                  .python = {"nd.fill_element_0index"},
                  .doc = "A copy of lhs, of two axes, in which element rhs[i] of row i is mhs[i]. Raises ValueError "
                         "for other shapes.",
                  .inputs = {"lhs", "mhs", "rhs"},
                  .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                    const Shape& shape = in[0].shape();
                    check(shape.size() == 2 && in[1].shape() == Shape{shape[0]} && in[2].shape() == Shape{shape[0]},
                          ErrorKind::kValue,
                          "fill_element_0index: expected shapes (n, m), (n,) and (n,), got {}, {} and {}",
                          to_string(shape), to_string(in[1].shape()), to_string(in[2].shape()));
                    const NDArray places = call("one_hot", {in[2]}, {{"depth", shape[1]}});
                    const NDArray column = call("_reshape_to", {in[1]}, {{"shape", Shape{shape[0], 1}}});
                    return {call("_npi_where", {places, cast_to(column, in[0].dtype()), in[0]})};
                  },
                  .samples = {Sample({uniform({3, 4}), uniform({3}), integers({3}, 0, 4, DType::kFloat32)})}});
}

OpDef index_copy() {
  return general(
      {.name = "_contrib_index_copy",
       .python = {"nd.contrib.index_copy"},
       .doc = "A copy of old_tensor whose rows at index_vector are those of new_tensor. Raises ValueError unless "
              "index_vector "
              "has one dimension and new_tensor one row for each index, TypeError for different dtypes, and "
              "IndexError, when "
              "the result is read, for an index out of bounds.",
       .inputs = {"old_tensor", "index_vector", "new_tensor"},
       .infer =
           [](Infer& i, const NoAttrs&) {
             Shape expected = i.shape(0);
             i.require(!expected.empty() && i.shape(1).size() == 1, ErrorKind::kValue,
                       "expected an array and a vector of indices, got shapes {} and {}", to_string(i.shape(0)),
                       to_string(i.shape(1)));
             expected[0] = i.shape(1)[0];
             i.require(i.shape(2) == expected, ErrorKind::kValue, "expected new_tensor of shape {}, got {}",
                       to_string(expected), to_string(i.shape(2)));
             i.require(i.dtype(2) == i.dtype(0), ErrorKind::kType, "expected new_tensor of dtype {}, got {}",
                       dtype_name(i.dtype(0)), dtype_name(i.dtype(2)));
             i.output(i.shape(0), i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const NoAttrs&) {
             const Tensor& to = c.output(0);
             const Shape axes{0};
             copy_elements(c, to.data, to.strides, c.input(0).data, c.input(0).strides, to.shape, to.dtype);
             scatter(c, {to.shape, axes, {&c.input(1), 1}}, c.input(2).data, to);
           },
       .gradient =
           [](Gradient& g, const NoAttrs&) {
             const NDArray &head = g.head(), &index = g.input(1);
             const NDArray& rows = g.input(2);
             if (g.wants(0))
               g.set(0, call(g.op(), g.attrs(), {head, index, full(rows.shape(), 0, rows.dtype(), head.device())}));
             if (g.wants(2)) g.set(2, call("take", {head, index}, {{"mode", std::string("wrap")}}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({4, 3}), values({1, 3}, DType::kInt64), uniform({2, 3})})}});
}

OpDef batch_take() {
  return general(
      {.name = "batch_take",
       .python = {"nd.batch_take"},
       .doc =
           "One element of each row: result[i] = a[i, indices[i]]; indices out of range are clipped. Raises ValueError "
           "unless a has two dimensions and indices one entry per row.",
       .inputs = {"a", "indices"},
       .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
         check(in[0].ndim() == 2, ErrorKind::kValue, "batch_take: expected an array of two dimensions, got shape {}",
               to_string(in[0].shape()));
         return {call("pick", {in[0], in[1]}, {{"axis", int64_t{1}}})};
       },
       .samples = {Sample({uniform({3, 2}), integers({3}, 0, 2)})}});
}

void ravel_on_host(KernelContext& c, const Shape& shape) {
  const std::vector<int64_t> from = integers_of(c.input(0));
  const auto n = static_cast<size_t>(c.output(0).size);
  std::vector<int64_t> to(n, 0);
  const auto wrapping = [](int64_t value) { return static_cast<uint64_t>(value); };  // for any coordinates
  for (size_t d = 0; d < shape.size(); ++d)
    for (size_t i = 0; i < n; ++i)
      to[i] = static_cast<int64_t>(wrapping(to[i]) * wrapping(shape[d]) + wrapping(from[d * n + i]));
  store_integers(to, c.output(0));
}

void unravel_on_host(KernelContext& c, const Shape& shape) {
  std::vector<int64_t> rest = integers_of(c.input(0));
  const size_t n = rest.size();
  std::vector<int64_t> to(n * shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    for (size_t i = 0; i < n; ++i) {
      to[d * n + i] = d == 0 ? rest[i] : rest[i] % shape[d];
      if (d > 0) rest[i] /= shape[d];
    }
  }
  store_integers(to, c.output(0));
}

struct GridAttrs {
  Shape shape;
  static constexpr auto kFields =
      fields(field(&GridAttrs::shape, "shape", "Shape of the array that is indexed.").required());
};

OpDef ravel() {
  return general<GridAttrs>(
      {.name = "_ravel_multi_index",
       .aliases = {"ravel_multi_index"},
       .python = {"nd.ravel_multi_index"},
       .doc = "Flat row-major indices from coordinates: data (dimensions, ...) gives (...). Raises ValueError unless "
              "data has "
              "one row per dimension of `shape`.",
       .infer =
           [](Infer& i, const GridAttrs& a) {
             i.require(!i.shape(0).empty() && i.shape(0)[0] == static_cast<int64_t>(a.shape.size()), ErrorKind::kValue,
                       "expected {} rows of coordinates for shape {}, got data of shape {}", a.shape.size(),
                       to_string(a.shape), to_string(i.shape(0)));
             i.output(Shape(i.shape(0).begin() + 1, i.shape(0).end()), i.dtype(0));
           },
       .kernel = [](KernelContext& c, const GridAttrs& a) { ravel_places(c, a.shape); },
       .zero_gradient = true,
       .samples = {Sample({integers({2, 5}, 0, 3)}, make_attrs(GridAttrs{{3, 4}}))}});
}

OpDef unravel() {
  return general<GridAttrs>(
      {.name = "_unravel_index",
       .aliases = {"unravel_index"},
       .python = {"nd.unravel_index"},
       .doc = "Coordinates from flat row-major indices: data (...) gives (dimensions, ...). The first coordinate takes "
              "what is out of range, so its extent may be any, as -1. Raises ValueError for another extent of 0.",
       .infer =
           [](Infer& i, const GridAttrs& a) {
             const auto counted = std::span(a.shape.begin(), a.shape.end()).subspan(a.shape.empty() ? 0 : 1);
             i.require(std::ranges::all_of(counted, [](int64_t extent) { return extent > 0; }), ErrorKind::kValue,
                       "there are no coordinates in shape {}", to_string(a.shape));
             Shape result = i.shape(0);
             result.insert(0, static_cast<int64_t>(a.shape.size()));
             i.output(result, i.dtype(0));
           },
       .kernel = [](KernelContext& c, const GridAttrs& a) { unravel_places(c, a.shape); },
       .zero_gradient = true,
       .samples = {Sample({integers({5}, 0, 12, DType::kFloat32)}, make_attrs(GridAttrs{{3, 4}}))}});
}

struct IndexArrayAttrs {
  std::optional<Shape> axes = {};
  static constexpr auto kFields =
      fields(field(&IndexArrayAttrs::axes, "axes", "Axes whose coordinates are given; None: all."));
};

OpDef index_array() {
  return general<IndexArrayAttrs>(
      {.name = "_contrib_index_array",
       .python = {"nd.contrib.index_array"},
       .doc = "The coordinates of every element, as int64: shape data.shape + (number of axes,). Raises ValueError for "
              "an axis "
              "out of range.",
       .result_dtype = result_dtypes::always(DType::kInt64),
       .infer =
           [](Infer& i, const IndexArrayAttrs& a) {
             Shape result = i.shape(0);
             const auto ndim = static_cast<int64_t>(result.size());
             if (a.axes)
               for (int64_t axis : *a.axes) normalize_axis(axis, ndim, i.name());
             result.push_back(a.axes ? static_cast<int64_t>(a.axes->size()) : ndim);
             i.output(result, DType::kInt64);
           },
       .kernel =
           [](KernelContext& c, const IndexArrayAttrs& a) {
             const Shape& shape = c.input(0).shape;
             const auto ndim = static_cast<int64_t>(shape.size());
             const Strides strides = contiguous_strides(shape);
             Shape axes;
             for (int64_t d = 0; d < (a.axes ? static_cast<int64_t>(a.axes->size()) : ndim); ++d)
               axes.push_back(a.axes ? normalize_axis((*a.axes)[static_cast<size_t>(d)], ndim, c.name()) : d);
             const auto width = static_cast<int64_t>(axes.size());
             fill_integers(c, c.output(0), [&](int64_t first, int64_t count, int64_t* values) {
               for (int64_t i = first; i < first + count; ++i) {
                 const auto d = static_cast<size_t>(axes[static_cast<size_t>(i % width)]);
                 values[i - first] = i / width / strides[d] % shape[d];
               }
             });
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 3})}});
}

}  // namespace

const decltype(ravel_places) ravel_places{"ravel_places", ravel_on_host};
const decltype(unravel_places) unravel_places{"unravel_places", unravel_on_host};

Operators one_hot_operators() {
  return {one_hot(), fill_element(), index_copy(), batch_take(), ravel(), unravel(), index_array()};
}

}  // namespace headrace
