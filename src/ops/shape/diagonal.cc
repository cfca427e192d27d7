// Diagonals and triangles.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/creation/creation.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct DiagonalAttrs {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  static constexpr auto kFields =
      fields(field(&DiagonalAttrs::offset, "offset", "Diagonal above (positive) or below the main one."),
             field(&DiagonalAttrs::axis1, "axis1", "First axis of the matrices."),
             field(&DiagonalAttrs::axis2, "axis2", "Second axis of the matrices."));
};

struct DiagAttrs {
  int64_t k = 0, axis1 = 0, axis2 = 1;
  static constexpr auto kFields = fields(field(&DiagAttrs::k, "k", "Diagonal above (positive) or below the main one."),
                                         field(&DiagAttrs::axis1, "axis1", "First axis of the matrices."),
                                         field(&DiagAttrs::axis2, "axis2", "Second axis of the matrices."));
};

struct OffsetAttrs {
  int64_t k = 0;
  static constexpr auto kFields =
      fields(field(&OffsetAttrs::k, "k", "Diagonal above (positive) or below the main one."));
};

struct ScatterAttrs {
  Shape shape;
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  static constexpr auto kFields = fields(field(&ScatterAttrs::shape, "shape", "Shape of the result.").required(),
                                         field(&ScatterAttrs::offset, "offset", "Which diagonal."),
                                         field(&ScatterAttrs::axis1, "axis1", "First axis of the matrices."),
                                         field(&ScatterAttrs::axis2, "axis2", "Second axis of the matrices."));
};

// Where a diagonal lies.
struct Place {
  size_t row, column;  // axes of the matrices
  int64_t offset, length;
};

Place place_of(const char* name, const Shape& shape, int64_t offset, int64_t axis1, int64_t axis2) {
  const auto ndim = static_cast<int64_t>(shape.size());
  check(ndim >= 2, ErrorKind::kValue, "{}: a diagonal needs at least two axes, got shape {}", name, to_string(shape));
  const auto row = static_cast<size_t>(normalize_axis(axis1, ndim, name));
  const auto column = static_cast<size_t>(normalize_axis(axis2, ndim, name));
  check(row != column, ErrorKind::kValue, "{}: axis1 and axis2 are both {}", name, axis1);
  offset = std::clamp(offset, -shape[row], shape[column]);  // those further away are empty, too
  const int64_t rows = shape[row] - std::max<int64_t>(0, -offset);
  const int64_t columns = shape[column] - std::max<int64_t>(0, offset);
  return {row, column, offset, std::max<int64_t>(0, std::min(rows, columns))};
}

// Of a diagonal: the last axis, after the axes that are not part of the matrices.
Shape shape_of(const Place& place, const Shape& shape) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != place.row && i != place.column) result.push_back(shape[i]);
  result.push_back(place.length);
  return result;
}

Geometry diagonal_of(const char* name, const Geometry& in, int64_t offset, int64_t axis1, int64_t axis2) {
  const Place place = place_of(name, in.shape, offset, axis1, axis2);
  Geometry out{shape_of(place, in.shape), {}, in.offset};
  if (place.length > 0)
    out.offset += place.offset > 0 ? place.offset * in.strides[place.column] : -place.offset * in.strides[place.row];
  for (size_t i = 0; i < in.shape.size(); ++i)
    if (i != place.row && i != place.column) out.strides.push_back(in.strides[i]);
  out.strides.push_back(in.strides[place.row] + in.strides[place.column]);
  return out;
}

OpDef diagonal() {
  return view_operator<DiagonalAttrs>(
      {.name = "_np_diagonal",
       .python = {"np.diagonal", "ndarray.diagonal"},
       .doc = "A view of a diagonal of the matrices in axis1 and axis2; it becomes the last axis.",
       .inputs = {"data"},
       .np_inputs = {"a"},
       .gradient =
           [](Gradient& g, const DiagonalAttrs& a) {
             g.set(0,
                   call("_diagonal_scatter", {g.head()},
                        {{"shape", g.input(0).shape()}, {"offset", a.offset}, {"axis1", a.axis1}, {"axis2", a.axis2}}));
           },
       .samples = {{{uniform({3, 4})}, make_attrs(DiagonalAttrs{.offset = 1})}, uniform({2, 3, 2})}},
      [](const char* name, const Geometry& in, Geometry& out, const DiagonalAttrs& a) {
        out = diagonal_of(name, in, a.offset, a.axis1, a.axis2);
        return true;
      });
}

OpDef diagonal_scatter() {
  return general<ScatterAttrs>({
      .name = "_diagonal_scatter",
      .doc = "Zeros of a shape with the input on a diagonal: the transpose of diagonal.",
      .infer =
          [](Infer& i, const ScatterAttrs& a) {
            expect_extents(i, a.shape);
            const Shape diagonal = shape_of(place_of(i.name(), a.shape, a.offset, a.axis1, a.axis2), a.shape);
            i.require(diagonal == i.shape(0), ErrorKind::kValue, "the diagonal of shape {} has shape {}, got {}",
                      to_string(a.shape), to_string(diagonal), to_string(i.shape(0)));
            i.output(a.shape, i.dtype(0));
          },
      .kernel =
          [](KernelContext& c, const ScatterAttrs& a) {
            const Tensor &from = c.input(0), &to = c.output(0);
            fill(c, to, int64_t{0});
            Geometry place = diagonal_of(c.name(), packed_geometry(to.shape), a.offset, a.axis1, a.axis2);
            copy_elements(c, to.as<char>() + place.offset * static_cast<int64_t>(item_size(to.dtype)), place.strides,
                          from.data, from.strides, from.shape, to.dtype);
          },
      .gradient =
          [](Gradient& g, const ScatterAttrs& a) {
            g.set(0, call("_np_diagonal", {g.head()}, {{"offset", a.offset}, {"axis1", a.axis1}, {"axis2", a.axis2}}));
          },
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .samples = {Sample({uniform({3})}, make_attrs(ScatterAttrs{.shape = {3, 4}, .offset = 1})),
                  Sample({uniform({3, 1})}, make_attrs(ScatterAttrs{.shape = {2, 3, 2}, .offset = -1, .axis2 = 2}))},
  });
}

// A matrix with the vector on diagonal k, or diagonal k of the matrices.
std::vector<NDArray> diag(const NDArray& array, int64_t k, int64_t axis1, int64_t axis2) {
  if (array.ndim() != 1) return {call("_np_diagonal", {array}, {{"offset", k}, {"axis1", axis1}, {"axis2", axis2}})};
  constexpr int64_t kFarthest = int64_t{1} << 50;  // no memory holds that matrix
  k = std::clamp(k, -kFarthest, kFarthest);
  const int64_t size = array.size() + std::abs(k);
  return {call("_diagonal_scatter", {array}, {{"shape", Shape{size, size}}, {"offset", k}})};
}

OpDef nd_diag() {
  return general<DiagAttrs>({
      .name = "diag",
      .python = {"nd.diag", "NDArray.diag"},
      .doc = "Diagonal k of the matrices in axis1 and axis2; of a vector, the matrix with it on diagonal k.",
      .compose = [](std::span<const NDArray> in, const DiagAttrs& a) { return diag(in[0], a.k, a.axis1, a.axis2); },
      .samples = {uniform({3, 4}), {{uniform({3})}, make_attrs(DiagAttrs{.k = -1})}},
  });
}

OpDef np_diag() {
  return general<OffsetAttrs>({
      .name = "_np_diag",
      .python = {"np.diag"},
      .doc = "Diagonal k of a matrix; of a vector, the matrix with it on diagonal k.",
      .inputs = {"data"},
      .np_inputs = {"v"},
      .compose = [](std::span<const NDArray> in, const OffsetAttrs& a) { return diag(in[0], a.k, 0, 1); },
      .samples = {uniform({3, 4}), {{uniform({3})}, make_attrs(OffsetAttrs{1})}},
  });
}

OpDef np_diagflat() {
  return general<OffsetAttrs>({
      .name = "_np_diagflat",
      .python = {"np.diagflat"},
      .doc = "The matrix with the flattened array on diagonal k.",
      .inputs = {"data"},
      .np_inputs = {"v"},
      .compose =
          [](std::span<const NDArray> in, const OffsetAttrs& a) {
            return diag(call("_reshape_to", {in[0]}, {{"shape", Shape{in[0].size()}}}), a.k, 0, 1);
          },
      .samples = {uniform({2, 2})},
  });
}

OpDef diagonal_places() {
  return general({.name = "_npi_diag_indices_from",
                  .doc = "Where the elements of the main diagonal are: int64 of shape (dimensions, extent). Raises "
                         "ValueError unless there are two or more dimensions, of one extent.",
                  .inputs = {"arr"},
                  .result_dtype = result_dtypes::always(DType::kInt64),
                  .infer =
                      [](Infer& i, const NoAttrs&) {
                        const Shape& shape = i.shape(0);
                        const bool is_square = shape.size() >= 2 && std::ranges::all_of(shape, [&](int64_t extent) {
                                                 return extent == shape[0];
                                               });
                        i.require(is_square, ErrorKind::kValue,
                                  "expected two or more dimensions of one extent, got shape {}", to_string(shape));
                        i.output({static_cast<int64_t>(shape.size()), shape[0]}, DType::kInt64);
                      },
                  .kernel =
                      [](KernelContext& c, const NoAttrs&) {
                        const int64_t extent = c.output(0).shape[1];
                        fill_integers(c, c.output(0), [extent](int64_t first, int64_t count, int64_t* values) {
                          for (int64_t i = 0; i < count; ++i) values[i] = (first + i) % extent;
                        });
                      },
                  .zero_gradient = true,
                  .saves_inputs = kNothing,
                  .strided_inputs = true,
                  .samples = {uniform({3, 3}), uniform({2, 2, 2})}});
}

OpDef trace() {
  return general<DiagonalAttrs>({
      .name = "_np_trace",
      .python = {"np.trace"},
      .doc = "Sum along a diagonal of the matrices in axis1 and axis2.",
      .inputs = {"data"},
      .np_inputs = {"a"},
      .compose = [](std::span<const NDArray> in, const DiagonalAttrs& a) -> std::vector<NDArray> {
        NDArray line = call("_np_diagonal", {in[0]}, {{"offset", a.offset}, {"axis1", a.axis1}, {"axis2", a.axis2}});
        return {call("_sum_axes", {line}, {{"axis", Shape{static_cast<int64_t>(line.ndim()) - 1}}})};
      },
      .samples = {uniform({3, 3})},
  });
}

// --- triangles -------------------------------------------------------------------------------------------------------

template <bool kLower>
OpDef triangle() {
  const char* name = kLower ? "_npi_tril" : "_npi_triu";
  return general<OffsetAttrs>({
      .name = name,
      .python = {kLower ? "np.tril" : "np.triu"},
      .doc = std::string("The matrices with zeros ") + (kLower ? "above" : "below") +
             " diagonal k. A vector is every row of a square matrix.",
      .inputs = {"m"},
      .infer =
          [](Infer& i, const OffsetAttrs&) {
            const Shape& shape = i.shape(0);
            i.require(!shape.empty(), ErrorKind::kValue, "at least one axis is needed, got shape ()");
            i.output(shape.size() == 1 ? Shape{shape[0], shape[0]} : shape, i.dtype(0));
          },
      .kernel = [](KernelContext& c, const OffsetAttrs& a) { copy_triangle(c, c.input(0), c.output(0), a.k, kLower); },
      .gradient =
          [name](Gradient& g, const OffsetAttrs& a) {
            const NDArray kept = call(name, {g.head()}, {{"k", a.k}});
            g.set(0, g.input(0).ndim() == 1 ? call("_sum_axes", {kept}, {{"axis", Shape{0}}}) : kept);
          },
      .saves_inputs = kNothing,
      .samples = {uniform({3, 4}), uniform({3}), {{uniform({2, 3, 3})}, make_attrs(OffsetAttrs{1})}},
  });
}

}  // namespace

Operators diagonal_operators() {
  return {diagonal(), diagonal_scatter(), nd_diag(),        np_diag(),        np_diagflat(),
          trace(),    diagonal_places(),  triangle<true>(), triangle<false>()};
}

}  // namespace headrace
