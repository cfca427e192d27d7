// Selection by truth values: operators whose result shape depends on the values of an array, which they wait for.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "op/result_dtype.h"

namespace headrace {
namespace {

// Flat positions of the elements that are not 0. Waits for the array.
std::vector<int64_t> nonzero_positions(const NDArray& array) {
  check_has_values(array, "asnumpy");
  std::vector<int64_t> positions;
  const int64_t n = array.size();
  std::vector<char> bytes(static_cast<size_t>(n) * item_size(array.dtype()));
  array.copy_to_host(bytes.data());
  dispatch(array.dtype(), [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(bytes.data());
    const auto chosen = static_cast<size_t>(std::count_if(x, x + n, [](T value) { return numeric_cast<bool>(value); }));
    positions.resize(chosen + 1);  // one more: what is not chosen is written, too, and then overwritten
    for (int64_t i = 0, k = 0; i < n; k += numeric_cast<bool>(x[i++]) ? 1 : 0) positions[static_cast<size_t>(k)] = i;
    positions.resize(chosen);
  });
  return positions;
}

NDArray int64_array(const std::vector<int64_t>& values, const Shape& shape, Device device) {
  return NDArray::from_host(values.data(), shape, DType::kInt64, device);
}

struct AxisAttrs {
  int64_t axis = 0;
  static constexpr auto kFields = fields(field(&AxisAttrs::axis, "axis", "Axis that the mask selects along."));
};

OpDef boolean_mask() {
  return general<AxisAttrs>(
      {.name = "_contrib_boolean_mask",
       .aliases = {"_npi_boolean_mask"},
       .python = {"nd.contrib.boolean_mask"},
       .doc = "Slices of data along `axis` where index is not 0. Waits for index, on whose values the shape depends. "
              "Raises "
              "ValueError for an axis out of range or an index array that is not one-dimensional of the axis's extent.",
       .inputs = {"data", "index"},
       .compose = [](std::span<const NDArray> in, const AxisAttrs& a) -> std::vector<NDArray> {
         const Shape& shape = in[0].shape();
         const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), "boolean_mask");
         const Shape expected{shape[static_cast<size_t>(axis)]};
         check(in[1].shape() == expected, ErrorKind::kValue,
               "boolean_mask: expected an index array of shape {}, got {}", to_string(expected),
               to_string(in[1].shape()));
         const std::vector<int64_t> chosen = nonzero_positions(in[1]);
         NDArray rows = int64_array(chosen, {static_cast<int64_t>(chosen.size())}, in[0].device());
         return {call("take", {in[0], rows}, {{"axis", axis}})};
       },
       .samples = {Sample({uniform({4, 2}), values({0, 1, 1, 0})})}});
}

OpDef nonzero() {
  return general({.name = "_npx_nonzero",
                  .aliases = {"_npi_nonzero"},
                  .python = {"npx.nonzero"},
                  .doc = "Coordinates of the elements that are not 0, as int64 of shape (count, dimensions), in "
                         "row-major order. Waits "
                         "for the array.",
                  .inputs = {"a"},
                  .np_inputs = {"x"},
                  .result_dtype = result_dtypes::always(DType::kInt64),
                  .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                    const Shape shape = in[0].ndim() > 0 ? in[0].shape() : Shape{1};  // a number is a row of one
                    const Strides strides = contiguous_strides(shape);
                    std::vector<int64_t> coordinates;
                    int64_t count = 0;
                    for (int64_t position : nonzero_positions(in[0])) {
                      ++count;
                      for (size_t d = 0; d < shape.size(); ++d) coordinates.push_back(position / strides[d] % shape[d]);
                    }
                    return {int64_array(coordinates, {count, static_cast<int64_t>(shape.size())}, in[0].device())};
                  },
                  .samples = {values({0, 2, 3, 0})}});
}

struct AssignScalarAttrs {
  double value = 0;
  int64_t start_axis = 0;
  static constexpr auto kFields =
      fields(field(&AssignScalarAttrs::value, "value", "What the chosen elements become."),
             field(&AssignScalarAttrs::start_axis, "start_axis", "First axis that the mask covers."));
};

struct AssignTensorAttrs {
  int64_t start_axis = 0;
  static constexpr auto kFields =
      fields(field(&AssignTensorAttrs::start_axis, "start_axis", "First axis that the mask covers."));
};

// `mask` with axes of extent 1 around it, so that it broadcasts to `data`.
NDArray aligned_mask(const char* name, const NDArray& data, const NDArray& mask, int64_t start_axis) {
  const Shape& shape = data.shape();
  Shape aligned(shape.size(), 1);
  const auto start = static_cast<size_t>(start_axis);
  bool fits = start_axis >= 0 && start + mask.ndim() <= shape.size();
  for (size_t d = 0; fits && d < mask.ndim(); ++d) {
    fits = mask.shape()[d] == shape[start + d];
    aligned[start + d] = mask.shape()[d];
  }
  check(fits, ErrorKind::kValue, "{}: a mask of shape {} does not fit an array of shape {} from axis {} on", name,
        to_string(mask.shape()), to_string(shape), start_axis);
  return call("_reshape_to", {cast_to(mask, DType::kBool)}, {{"shape", aligned}});
}

SampleArray mask_of(Shape shape) { return integers(std::move(shape), 0, 2, DType::kBool); }

OpDef masked_assign() {
  return pointwise<AssignScalarAttrs>(
      {.op = {.name = "_masked_assign",
              .doc = "value where mask is true, data elsewhere.",
              .inputs = {"data", "mask"},
              .samples = {Sample({uniform({2, 3}), mask_of({2, 3})}, make_attrs(AssignScalarAttrs{.value = 1.5}))}},
       .formula = [](Expr x, Expr mask, Expr value) { return select(mask, value, x); },
       .dtypes = dtype_rules::like_first});
}

OpDef assign_scalar() {
  return general<AssignScalarAttrs>(
      {.name = "_npi_boolean_mask_assign_scalar",
       .doc = "A copy of data that holds `value` where mask, covering the axes from start_axis on, is true.",
       .inputs = {"data", "mask"},
       .compose = [](std::span<const NDArray> in, const AssignScalarAttrs& a) -> std::vector<NDArray> {
         NDArray mask = aligned_mask("boolean_mask_assign_scalar", in[0], in[1], a.start_axis);
         return {call("_masked_assign", {in[0], mask}, {{"value", a.value}})};
       },
       .samples = {Sample({uniform({2, 3}), mask_of({2, 3})}, make_attrs(AssignScalarAttrs{.value = 1.5})),
                   Sample({uniform({2, 3, 2}), mask_of({3})}, make_attrs(AssignScalarAttrs{.start_axis = 1}))}});
}

// A single truth value chooses along an axis of its own.
NDArray assigned_by_one(const NDArray& data, const NDArray& mask, const NDArray& value, int64_t start_axis) {
  Shape wide = data.shape();
  wide.insert(static_cast<size_t>(start_axis), 1);
  const NDArray assigned =
      call("_npi_boolean_mask_assign_tensor",
           {call("_reshape_to", {data}, {{"shape", wide}}), call("_reshape_to", {mask}, {{"shape", Shape{1}}}), value},
           {{"start_axis", start_axis}});
  return call("_reshape_to", {assigned}, {{"shape", data.shape()}});
}

OpDef assign_tensor() {
  return general<AssignTensorAttrs>(
      {.name = "_npi_boolean_mask_assign_tensor",
       .doc = "A copy of data whose elements where mask, covering the axes from start_axis on, is true are those of "
              "value, "
              "which broadcasts to the selection. Waits for mask.",
       .inputs = {"data", "mask", "value"},
       .compose = [](std::span<const NDArray> in, const AssignTensorAttrs& a) -> std::vector<NDArray> {
         const NDArray& data = in[0];
         const NDArray mask = aligned_mask("boolean_mask_assign_tensor", data, in[1], a.start_axis);
         if (in[1].ndim() == 0) return {assigned_by_one(data, in[1], in[2], a.start_axis)};
         const Shape& shape = in[1].shape();
         const Strides strides = contiguous_strides(shape);
         const std::vector<int64_t> chosen = nonzero_positions(in[1]);
         const Shape count{static_cast<int64_t>(chosen.size())};
         Shape selected = data.shape(), axes;
         std::vector<NDArray> inputs(1);
         for (size_t d = 0; d < shape.size(); ++d) {
           std::vector<int64_t> along;
           for (int64_t position : chosen) along.push_back(position / strides[d] % shape[d]);
           inputs.push_back(int64_array(along, count, data.device()));
           axes.push_back(a.start_axis + static_cast<int64_t>(d));
           selected.erase(static_cast<size_t>(a.start_axis));
         }
         selected.insert(static_cast<size_t>(a.start_axis), count[0]);
         inputs[0] = call("_npi_broadcast_to", {cast_to(in[2], data.dtype())}, {{"shape", selected}});
         const OpDef& place = find_op("_advanced_index_add");
         const NDArray placed =
             invoke_all(place, attrs_of(place, {{"axes", axes}, {"shape", data.shape()}}), inputs)[0];
         return {call("_where", {mask, placed, data})};
       },
       .samples = {Sample({uniform({2, 3}), mask_of({2, 3}), uniform({1})}),
                   Sample({uniform({2, 3, 2}), mask_of({3}), uniform({2, 1, 2})},
                          make_attrs(AssignTensorAttrs{.start_axis = 1})),
                   Sample({uniform({2, 3}), mask_of({}), uniform({1, 2, 3})})}});
}

}  // namespace

Operators mask_operators() { return {boolean_mask(), nonzero(), masked_assign(), assign_scalar(), assign_tensor()}; }

}  // namespace headrace
