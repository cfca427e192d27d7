#include "ops/index/basic_index.h"

#include <cstring>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/copy_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/creation/creation.h"

namespace headrace {
namespace {

// Whether start, start + step, ... are `count` elements of an axis.
bool lies_inside(int64_t start, int64_t step, int64_t count, int64_t extent) {
  if (count == 0) return start >= -1 && start <= extent;
  int64_t last;
  return count > 0 && start >= 0 && start < extent && !__builtin_mul_overflow(count - 1, step, &last) &&
         !__builtin_add_overflow(last, start, &last) && last >= 0 && last < extent;
}

}  // namespace

Geometry indexed(const Geometry& in, const Shape& key) {
  Geometry out{{}, {}, in.offset};
  size_t axis = 0;
  const auto check_key = [&](bool fits) {
    check(fits, ErrorKind::kValue, "_basic_index: the key {} does not fit an array of shape {}", to_string(key),
          to_string(in.shape));
  };
  check_key(key.size() % 4 == 0);
  for (size_t k = 0; k + 3 < key.size(); k += 4) {
    int64_t kind = key[k], start = key[k + 1], step = key[k + 2], count = key[k + 3];
    check_key(kind >= 0 && kind <= 2);
    if (kind != 2) check_key(axis < in.shape.size() && lies_inside(start, step, kind == 1 ? count : 1, in.shape[axis]));
    if (kind == 2) {
      out.shape.push_back(1);
      out.strides.push_back(0);
      continue;
    }
    out.offset += start * in.strides[axis];
    if (kind == 1) {
      out.shape.push_back(count);
      out.strides.push_back(count > 1 ? step * in.strides[axis] : in.strides[axis]);  // of one element any will do
    }
    ++axis;
  }
  for (; axis < in.shape.size(); ++axis) {
    out.shape.push_back(in.shape[axis]);
    out.strides.push_back(in.strides[axis]);
  }
  return out;
}

namespace {

// [row 2, new axis, every second column backwards] of a matrix of 3 rows and 5 columns
BasicIndexAttrs sample_attrs() { return {.key = {0, 2, 0, 0, 2, 0, 0, 0, 1, 4, -2, 3}, .shape = {3, 5}}; }

void require_indexed(const Infer& i, const Shape& wanted, const Shape& given) {
  i.require(given == wanted, ErrorKind::kValue, "the key selects shape {}, but the input has shape {}",
            to_string(wanted), to_string(given));
}

Geometry indexed_packed(const Shape& shape, const Shape& key) {
  return indexed({shape, contiguous_strides(shape), 0}, key);
}

char* at(const Tensor& tensor, int64_t offset) {
  return tensor.as<char>() + offset * static_cast<int64_t>(item_size(tensor.dtype));
}

OpDef basic_index() {
  return general<BasicIndexAttrs>({
      .name = "_basic_index",
      .doc = "A view of the elements that integers, slices and new axes select.",
      .infer = [](Infer& i,
                  const BasicIndexAttrs& a) { i.output(indexed_packed(i.shape(0), a.key).shape, i.dtype(0)); },
      .kernel =
          [](KernelContext& c, const BasicIndexAttrs& a) {
            Geometry from = indexed_packed(c.input(0).shape, a.key);
            const Tensor& to = c.output(0);
            copy_elements(c, to.data, contiguous_strides(to.shape), at(c.input(0), from.offset), from.strides,
                          from.shape, to.dtype);
          },
      .as_view =
          [](const Geometry& in, Geometry& out, const BasicIndexAttrs& a) {
            out = indexed(in, a.key);
            return true;
          },
      .gradient =
          [](Gradient& g, const BasicIndexAttrs& a) {
            g.set(0, call("_basic_index_scatter", {g.head()}, {{"key", a.key}, {"shape", g.input(0).shape()}}));
          },
      .saves_inputs = kNothing,
      .samples = {Sample({uniform({3, 5})}, make_attrs(sample_attrs())),
                  Sample({uniform({3, 5})}, make_attrs(BasicIndexAttrs{.key = {1, 3, 1, 0}}))},
  });
}

OpDef basic_index_scatter() {
  return general<BasicIndexAttrs>({
      .name = "_basic_index_scatter",
      .doc = "Zeros of the given shape with the input at the indexed places: the transpose of _basic_index.",
      .infer =
          [](Infer& i, const BasicIndexAttrs& a) {
            require_indexed(i, indexed_packed(a.shape, a.key).shape, i.shape(0));
            i.output(a.shape, i.dtype(0));
          },
      .kernel =
          [](KernelContext& c, const BasicIndexAttrs& a) {
            const Tensor& from = c.input(0);
            const Tensor& to = c.output(0);
            fill(c, to, int64_t{0});
            Geometry place = indexed_packed(to.shape, a.key);
            copy_elements(c, at(to, place.offset), place.strides, from.data, contiguous_strides(from.shape), from.shape,
                          to.dtype);
          },
      .gradient =
          [](Gradient& g, const BasicIndexAttrs& a) {
            g.set(0, call("_basic_index", {g.head()}, {{"key", a.key}}));
          },
      .saves_inputs = kNothing,
      .samples = {Sample({uniform({1, 3})}, make_attrs(sample_attrs()))},
  });
}

// The functional form of x[key] = value. Frontends write in place and put this on the tape.
OpDef basic_index_assign() {
  return general<BasicIndexAttrs>({
      .name = "_basic_index_assign",
      .doc = "A copy of data in which the indexed places hold value (broadcast to them).",
      .inputs = {"data", "value"},
      .infer =
          [](Infer& i, const BasicIndexAttrs& a) {
            const Shape place = indexed_packed(i.shape(0), a.key).shape;
            i.require(broadcast_shapes(place, i.shape(1), i.name()) == place, ErrorKind::kValue,
                      "a value of shape {} does not fit a place of shape {}", to_string(i.shape(1)), to_string(place));
            i.require(i.dtype(1) == i.dtype(0), ErrorKind::kType, "data hold {}, but the value holds {}",
                      dtype_name(i.dtype(0)), dtype_name(i.dtype(1)));
            i.output(i.shape(0), i.dtype(0));
          },
      .kernel =
          [](KernelContext& c, const BasicIndexAttrs& a) {
            const Tensor& to = c.output(0);
            const Strides all = contiguous_strides(to.shape);
            copy_elements(c, to.data, all, c.input(0).data, all, to.shape, to.dtype);
            Geometry place = indexed_packed(to.shape, a.key);
            const Tensor& value = c.input(1);
            Strides strides(place.shape.size(), 0);
            Strides packed = contiguous_strides(value.shape);
            size_t lead = place.shape.size() - value.shape.size();
            for (size_t k = 0; k < value.shape.size(); ++k) strides[lead + k] = value.shape[k] == 1 ? 0 : packed[k];
            copy_elements(c, at(to, place.offset), place.strides, value.data, strides, place.shape, to.dtype);
          },
      .gradient =
          [](Gradient& g, const BasicIndexAttrs& a) {
            const NDArray& head = g.head();
            NDArray there = call("_basic_index", {head}, {{"key", a.key}});
            if (g.wants(1)) g.set(1, cast_to(sum_to_shape(there, g.input(1).shape()), g.input(1).dtype()));
            if (g.wants(0)) {
              NDArray kept = call("_basic_index_scatter", {there}, {{"key", a.key}, {"shape", head.shape()}});
              g.set(0, head - kept);
            }
          },
      .saves_inputs = kNothing,
      .samples = {Sample({uniform({3, 5}), uniform({3})}, make_attrs(sample_attrs())),
                  Sample({uniform({3, 5}), uniform({})}, make_attrs(sample_attrs()))},
  });
}

}  // namespace

Operators basic_index_operators() { return {basic_index(), basic_index_scatter(), basic_index_assign()}; }

}  // namespace headrace
