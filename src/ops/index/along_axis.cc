// Elements along one axis at positions given for each row.
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
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

// Calls f(flat position in the array, flat position in the indices) for every index.
template <class F>
void for_each_place(const char* name, const Positions& positions, const IndexSpace& whole, F&& f) {
  const Tensor& indices = positions.indices;
  if (indices.size == 0) return;
  const std::vector<int64_t> rows = read_indices(name, indices, whole.length, positions.mode, positions.axis);
  const int64_t length = indices.size / (whole.outer * whole.inner);
  parallel_for(whole.outer, 1 + 8192 / (1 + length * whole.inner), static_cast<double>(indices.size) * 2,
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o)
                   for (int64_t i = 0; i < length; ++i)
                     for (int64_t j = 0; j < whole.inner; ++j) {
                       const int64_t at = (o * length + i) * whole.inner + j;
                       f((o * whole.length + rows[static_cast<size_t>(at)]) * whole.inner + j, at);
                     }
               });
}

void take_along_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                        const Tensor& to) {
  dispatch_size(to.dtype, [&]<class T>() {
    for_each_place(c.name(), positions, space, [&](int64_t at, int64_t k) { to.as<T>()[k] = from.as<T>()[at]; });
  });
}

void put_along_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                       const Tensor& to) {
  std::memset(to.data, 0, static_cast<size_t>(to.size) * item_size(to.dtype));
  dispatch_size(to.dtype, [&]<class T>() {
    for_each_place(c.name(), positions, space, [&](int64_t at, int64_t k) { to.as<T>()[at] = from.as<T>()[k]; });
  });
}

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
             const Tensor& data = c.input(0);
             const int64_t axis = checked_axis(c.name(), data.shape, a.axis);
             take_along(c, data, {c.input(1), IndexMode::kRaise, axis}, IndexSpace::along(data.shape, axis),
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
             put_along(c, c.input(0), {c.input(1), IndexMode::kRaise, axis}, IndexSpace::along(a.shape, axis),
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

const IndexPart take_along{"take_along", take_along_on_host};
const IndexPart put_along{"put_along", put_along_on_host};

Operators along_axis_operators() { return {take_along_axis(), put_along_axis()}; }

}  // namespace headrace
