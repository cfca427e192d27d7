// Elements along one axis at positions given for each row.
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/index/indices.h"

namespace headrace {
namespace {

struct AlongAttrs {
  int64_t axis = -1;
  static constexpr auto kFields = fields(field(&AlongAttrs::axis, "axis", "Axis that the positions count along."));
};

struct PutAttrs {
  int64_t axis = -1;
  Shape shape;
  static constexpr auto kFields = fields(field(&PutAttrs::axis, "axis", "Axis that the positions count along."),
                                         field(&PutAttrs::shape, "shape", "Shape of the result.").required());
};

void check_shapes(const Infer& i, const Shape& shape, const Shape& indices, int64_t axis) {
  Shape expected = shape;
  if (indices.size() == shape.size()) expected[static_cast<size_t>(axis)] = indices[static_cast<size_t>(axis)];
  i.require(indices == expected, ErrorKind::kValue, "expected positions of shape {} but for axis {}, got {}",
            to_string(shape), axis, to_string(indices));
}

int64_t checked_axis(const char* name, const Shape& shape, int64_t axis) {
  return normalize_axis(axis, static_cast<int64_t>(shape.size()), name);
}

// Different ones along either axis.
SampleArray positions() { return {{2, 3}, DType::kInt32, 0, 0, {0, 2, 1, 1, 0, 2}}; }

OpDef take_along_axis() {
  return general<AlongAttrs>(
      {.name = "_take_along_axis",
       .doc = "result[..., i, ...] = data[..., indices[..., i, ...], ...] along one axis, where positions are all "
              "different. Those out of bounds raise IndexError when the result is read.",
       .inputs = {"data", "indices"},
       .infer =
           [](Infer& i, const AlongAttrs& a) {
             check_shapes(i, i.shape(0), i.shape(1), checked_axis(i.name(), i.shape(0), a.axis));
             i.output(i.shape(1), i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const AlongAttrs& a) {
             const Shape& shape = c.input(0).shape;
             const int64_t axis = checked_axis(c.name(), shape, a.axis);
             pick_elements(c, c.input(0), {c.input(1), IndexMode::kRaise, axis}, IndexSpace::along(shape, axis),
                           c.output(0));
           },
       .gradient =
           [](Gradient& g, const AlongAttrs& a) {
             if (g.wants(0))
               g.set(0, call("_put_along_axis", {g.head(), g.input(1)},
                             {{"axis", a.axis}, {"shape", g.input(0).shape()}}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({2, 3}), positions()}),
                   Sample({uniform({4, 3}), positions()}, make_attrs(AlongAttrs{.axis = 0}))}});
}

OpDef put_along_axis() {
  return general<PutAttrs>(
      {.name = "_put_along_axis",
       .doc =
           "Zeros of the given shape with result[..., indices[..., i, ...], ...] = values[..., i, ...] along one axis; "
           "positions are all different.",
       .inputs = {"values", "indices"},
       .infer =
           [](Infer& i, const PutAttrs& a) {
             check_shapes(i, a.shape, i.shape(1), checked_axis(i.name(), a.shape, a.axis));
             i.output(a.shape, i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const PutAttrs& a) {
             const int64_t axis = checked_axis(c.name(), a.shape, a.axis);
             put_elements(c, c.input(0), {c.input(1), IndexMode::kRaise, axis}, IndexSpace::along(a.shape, axis),
                          c.output(0));
           },
       .gradient =
           [](Gradient& g, const PutAttrs& a) {
             if (g.wants(0)) g.set(0, call("_take_along_axis", {g.head(), g.input(1)}, {{"axis", a.axis}}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({2, 3}), positions()}, make_attrs(PutAttrs{.shape = {2, 3}})),
                   Sample({uniform({2, 3}), positions()}, make_attrs(PutAttrs{.axis = 0, .shape = {4, 3}}))}});
}

}  // namespace

Operators along_axis_operators() { return {take_along_axis(), put_along_axis()}; }

}  // namespace headrace
