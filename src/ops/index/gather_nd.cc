// gather_nd and scatter_nd: elements and slices at coordinates.
#include "op/copy_part.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/creation/creation.h"
#include "ops/index/gather.h"

namespace headrace {
namespace {

struct ShapeAttrs {
  Shape shape;
  static constexpr auto kFields = fields(field(&ShapeAttrs::shape, "shape", "Shape of the result.").required());
};

// Of gathering from `data` at `indices` (depth, ...).
Shape gathered_shape(const Infer& i, const Shape& data, const Shape& indices) {
  i.require(
      !indices.empty() && indices[0] > 0 && indices[0] <= static_cast<int64_t>(data.size()), ErrorKind::kValue,
      "expected indices of shape (depth, ...) with depth from 1 to the {} dimension(s) of an array of shape {}, got {}",
      data.size(), to_string(data), to_string(indices));
  Shape result(indices.begin() + 1, indices.end());
  for (size_t d = static_cast<size_t>(indices[0]); d < data.size(); ++d) result.push_back(data[d]);
  return result;
}

double gather_cost(int64_t elements) { return 200 + static_cast<double>(elements) * 2; }

OpDef gather_nd() {
  return general(
      {.name = "gather_nd",
       .aliases = {"_npi_gather_nd", "_npx_gather_nd"},
       .python = {"nd.gather_nd", "npx.gather_nd"},
       .doc =
           "Slices of data at coordinates: result[i...] = data[indices[0, i...], indices[1, i...], ...], of shape "
           "indices.shape[1:] + data.shape[len(indices):]. Negative coordinates count from the end. Gradients of "
           "repeated places add up.\n\n"
           "Raises ValueError when indices has more rows than data has dimensions, and IndexError, when the result is "
           "read, for a coordinate out of bounds.",
       .inputs = {"data", "indices"},
       .infer =
           [](Infer& i, const NoAttrs&) {
             const Shape result = gathered_shape(i, i.shape(0), i.shape(1));
             i.output(result, i.dtype(0));
             i.cost(gather_cost(element_count(result)));
           },
       .kernel =
           [](KernelContext& c, const NoAttrs&) {
             gather(c, CoordinateRows(c.input(1)).of(c.input(0).shape), c.input(0), c.output(0));
           },
       .gradient =
           [](Gradient& g, const NoAttrs&) {
             if (g.wants(0))
               g.set(0, call("_backward_gather_nd", {g.head(), g.input(1)}, {{"shape", g.input(0).shape()}}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({3, 4, 2}), values({0, 2}, DType::kInt32)}),
                   Sample({uniform({3}), integers({1, 4}, 0, 3)})}});
}

void infer_scatter(Infer& i, const ShapeAttrs& a) {
  expect_extents(i, a.shape);
  const Shape expected = gathered_shape(i, a.shape, i.shape(1));
  i.require(i.shape(0) == expected, ErrorKind::kValue, "expected data of shape {} for indices {} into {}, got {}",
            to_string(expected), to_string(i.shape(1)), to_string(a.shape), to_string(i.shape(0)));
  i.output(a.shape, i.dtype(0));
  i.cost(gather_cost(element_count(a.shape)));
}

void scatter_gradient(Gradient& g, const ShapeAttrs&) {
  if (g.wants(0)) g.set(0, call("gather_nd", {g.head(), g.input(1)}));
}

template <bool add>
OpDef scatter_operator(const char* name, std::vector<std::string> python, const char* doc) {
  return general<ShapeAttrs>({.name = name,
                              .python = std::move(python),
                              .doc = doc,
                              .inputs = {"data", "indices"},
                              .infer = infer_scatter,
                              .kernel =
                                  [](KernelContext& c, const ShapeAttrs& a) {
                                    const Tensor& to = c.output(0);
                                    const CoordinateRows places(c.input(1));
                                    fill(c, to, int64_t{0});
                                    if (add)
                                      scatter_add(c, places.of(a.shape), c.input(0), to);
                                    else
                                      scatter(c, places.of(a.shape), c.input(0).data, to);
                                  },
                              .gradient = scatter_gradient,
                              .saves_inputs = 1u << 1,
                              .samples = {Sample({uniform({3}), SampleArray{{1, 3}, DType::kInt32, 0, 0, {0, 2, 1}}},
                                                 make_attrs(ShapeAttrs{{4}}))}});
}

OpDef scatter_set_nd() {
  return general<ShapeAttrs>(
      {.name = "_scatter_set_nd",
       .aliases = {"_npi_scatter_set_nd"},
       .python = {"nd._internal._scatter_set_nd"},
       .doc = "A copy of lhs with rhs at the places that indices names, as gather_nd reads them.",
       .inputs = {"lhs", "rhs", "indices"},
       .infer =
           [](Infer& i, const ShapeAttrs&) {
             const Shape expected = gathered_shape(i, i.shape(0), i.shape(2));
             i.require(i.shape(1) == expected, ErrorKind::kValue, "expected rhs of shape {}, got {}",
                       to_string(expected), to_string(i.shape(1)));
             i.require(i.dtype(1) == i.dtype(0), ErrorKind::kType, "expected rhs of dtype {}, got {}",
                       dtype_name(i.dtype(0)), dtype_name(i.dtype(1)));
             i.output(i.shape(0), i.dtype(0));
             i.cost(gather_cost(i.size(0)));
           },
       .kernel =
           [](KernelContext& c, const ShapeAttrs&) {
             const Tensor& to = c.output(0);
             const Strides packed = contiguous_strides(to.shape);
             copy_elements(c, to.data, packed, c.input(0).data, packed, to.shape, to.dtype);
             scatter(c, CoordinateRows(c.input(2)).of(to.shape), c.input(1).data, to);
           },
       .gradient =
           [](Gradient& g, const ShapeAttrs& a) {
             const NDArray &head = g.head(), &indices = g.input(2);
             if (g.wants(1)) g.set(1, call("gather_nd", {head, indices}));
             if (g.wants(0)) {
               const NDArray nothing = full(g.input(1).shape(), 0, head.dtype(), head.device());
               g.set(0, call("_scatter_set_nd", {head, nothing, indices}, {{"shape", a.shape}}));
             }
           },
       .saves_inputs = 1u << 2,
       .samples = {Sample({uniform({4, 2}), uniform({2, 2}), SampleArray{{1, 2}, DType::kInt32, 0, 0, {0, -1}}},
                          make_attrs(ShapeAttrs{{4, 2}}))}});
}

}  // namespace

Operators gather_nd_operators() {
  return {
      gather_nd(),
      scatter_operator<false>("scatter_nd", {"nd.scatter_nd"},
                              "Zeros of the given shape with data at coordinates: result[indices[0, i...], indices[1, "
                              "i...], ...] = data[i...]; the last one stays where places coincide.\n\n"
                              "Raises ValueError unless data has the shape of what gather_nd would read, and "
                              "IndexError, when the result is read, for a coordinate out of bounds."),
      scatter_operator<true>("_backward_gather_nd", {},
                             "Zeros of the given shape to which data is added at coordinates."),
      scatter_set_nd()};
}

}  // namespace headrace
