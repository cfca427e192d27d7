// NumPy's indexing by integer arrays: reading, writing and adding.
#include "base/check.h"
#include "op/copy_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "ops/creation/creation.h"
#include "ops/index/gather.h"

namespace headrace {
namespace {

struct AdvancedIndexAttrs {
  Shape axes;
  static constexpr auto kFields = fields(
      field(&AdvancedIndexAttrs::axes, "axes", "The axes indexed, ascending: one for each index array.").required());
};

struct AdvancedIndexAddAttrs {
  Shape axes, shape;
  static constexpr auto kFields =
      fields(field(&AdvancedIndexAddAttrs::axes, "axes", "The axes indexed, ascending.").required(),
             field(&AdvancedIndexAddAttrs::shape, "shape", "Shape of the result.").required());
};

AttrsPtr axes(Shape list) { return make_attrs(AdvancedIndexAttrs{std::move(list)}); }

// The shape of what is selected from `shape` by inputs [first, ...).
Shape selected_shape(const char* name, const Shape& shape, const Shape& axes, std::span<const NDArray> indices) {
  check(!axes.empty() && axes.size() == indices.size(), ErrorKind::kValue, "{}: {} axes were named for {} index arrays",
        name, axes.size(), indices.size());
  for (size_t k = 0; k < axes.size(); ++k)
    check(axes[k] >= 0 && axes[k] < static_cast<int64_t>(shape.size()) && (k == 0 || axes[k] > axes[k - 1]),
          ErrorKind::kIndex, "{}: axes {} do not fit an array of shape {}; name existing axes in ascending order", name,
          to_string(axes), to_string(shape));
  Shape index_shape;
  for (const NDArray& one : indices) index_shape = broadcast_shapes(index_shape, one.shape(), name);
  return advanced_index_shape(shape, axes, index_shape);
}

std::vector<Tensor> index_tensors(const KernelContext& c, size_t first) {
  std::vector<Tensor> tensors;
  for (size_t i = first; i < c.input_count(); ++i) tensors.push_back(c.input(i));
  return tensors;
}

std::vector<NDArray> with_indices(NDArray array, const Gradient& g, size_t first) {
  std::vector<NDArray> inputs{std::move(array)};
  for (size_t i = first; i < g.input_count(); ++i) inputs.push_back(g.input(i));
  return inputs;
}

std::vector<NDArray> inputs_from(std::span<const NDArray> all, size_t first) {
  return {all.begin() + static_cast<int64_t>(first), all.end()};
}

std::span<const NDArray> all_inputs(const Infer& i, size_t first) {
  return {&i.input(0) + first, i.input_count() - first};
}

OpDef advanced_index() {
  return general<AdvancedIndexAttrs>(
      {.name = "_advanced_index",
       .doc = "data[..., indices_0, indices_1, ...] with broadcast index arrays at `axes`. Negative indices count from "
              "the "
              "end; those out of bounds raise IndexError when the result is read.",
       .inputs = {"data", "indices"},
       .variadic = true,
       .infer =
           [](Infer& i, const AdvancedIndexAttrs& a) {
             const Shape result = selected_shape(i.name(), i.shape(0), a.axes, all_inputs(i, 1));
             i.output(result, i.dtype(0));
             i.cost(200 + static_cast<double>(element_count(result)) * 2);
           },
       .kernel =
           [](KernelContext& c, const AdvancedIndexAttrs& a) {
             const std::vector<Tensor> indices = index_tensors(c, 1);
             gather(c, {c.input(0).shape, a.axes, indices}, c.input(0), c.output(0));
           },
       .gradient =
           [](Gradient& g, const AdvancedIndexAttrs& a) {
             if (!g.wants(0)) return;
             const OpDef& add = find_op("_advanced_index_add");
             g.set(0, invoke_all(add, make_attrs(AdvancedIndexAddAttrs{a.axes, g.input(0).shape()}),
                                 with_indices(g.head(), g, 1))[0]);
           },
       .saves_inputs = kEverything & ~1u,
       .samples = {Sample({uniform({3, 4}), integers({2, 1}, -3, 3), integers({3}, -4, 4)}, axes({0, 1})),
                   Sample({uniform({2, 3, 2}), integers({4}, 0, 3)}, axes({1})),
                   Sample({uniform({2, 3, 2}), integers({2}, 0, 2), integers({2}, 0, 2)}, axes({0, 2}))}});
}

OpDef advanced_index_add() {
  return general<AdvancedIndexAddAttrs>(
      {.name = "_advanced_index_add",
       .doc = "Zeros of the given shape to whose selected places the values are added, in the order of the indices.",
       .inputs = {"values", "indices"},
       .variadic = true,
       .infer =
           [](Infer& i, const AdvancedIndexAddAttrs& a) {
             const Shape expected = selected_shape(i.name(), a.shape, a.axes, all_inputs(i, 1));
             i.require(i.shape(0) == expected, ErrorKind::kValue, "expected values of shape {}, got {}",
                       to_string(expected), to_string(i.shape(0)));
             i.output(a.shape, i.dtype(0));
             i.cost(200 + static_cast<double>(element_count(a.shape)) * 0.2 + static_cast<double>(i.size(0)) * 2);
           },
       .kernel =
           [](KernelContext& c, const AdvancedIndexAddAttrs& a) {
             const Tensor& to = c.output(0);
             const std::vector<Tensor> indices = index_tensors(c, 1);
             fill(c, to, int64_t{0});
             scatter_add(c, {a.shape, a.axes, indices}, c.input(0), to);
           },
       .gradient =
           [](Gradient& g, const AdvancedIndexAddAttrs& a) {
             if (g.wants(0))
               g.set(0, invoke_all(find_op("_advanced_index"), make_attrs(AdvancedIndexAttrs{a.axes}),
                                   with_indices(g.head(), g, 1))[0]);
           },
       .saves_inputs = kEverything & ~1u,
       .samples = {Sample({uniform({5}), integers({5}, -3, 3), integers({5}, 0, 4)},
                          make_attrs(AdvancedIndexAddAttrs{{0, 1}, {3, 4}})),
                   Sample({uniform({2, 4, 2}), values({2, 0, 2, -1}, DType::kInt32)},
                          make_attrs(AdvancedIndexAddAttrs{{1}, {2, 3, 2}}))}});
}

std::vector<Sample> assignments() {
  return {Sample({uniform({3, 4}), uniform({2}), integers({2}, -3, 3), values({1, 2}, DType::kInt32)}, axes({0, 1})),
          Sample({uniform({2, 3, 2}), uniform({2, 1}), values({2, 0}, DType::kInt64)}, axes({1}))};
}

// The kernel of assignment: needs a packed target.
OpDef advanced_index_put() {
  return general<AdvancedIndexAttrs>(
      {.name = "_advanced_index_put",
       .doc = "Writes value, broadcast to the selection, into the selected places of a packed array.",
       .inputs = {"data", "value", "indices"},
       .variadic = true,
       .outputs = 0,
       .infer =
           [](Infer& i, const AdvancedIndexAttrs& a) {
             const Shape selected = selected_shape(i.name(), i.shape(0), a.axes, all_inputs(i, 2));
             i.cost(200 + static_cast<double>(element_count(selected)) * 2);
           },
       .kernel =
           [](KernelContext& c, const AdvancedIndexAttrs& a) {
             const Tensor &data = c.input(0), &value = c.input(1);
             const std::vector<Tensor> indices = index_tensors(c, 2);
             const Shape index_shape = broadcast_index_shape(c.name(), indices);
             const Shape selected = advanced_index_shape(data.shape, a.axes, index_shape);
             const void* values = value.data;
             if (value.shape != selected) {
               void* whole = c.workspace(static_cast<size_t>(element_count(selected)) * item_size(value.dtype));
               const Strides packed = contiguous_strides(value.shape);
               Strides strides(selected.size(), 0);
               const size_t lead = selected.size() - value.shape.size();
               for (size_t d = 0; d < value.shape.size(); ++d) strides[lead + d] = value.shape[d] == 1 ? 0 : packed[d];
               copy_elements(c, whole, contiguous_strides(selected), value.data, strides, selected, value.dtype);
               values = whole;
             }
             scatter(c, {data.shape, a.axes, indices}, values, data);
           },
       .mutates = 1,
       .samples = assignments()});
}

OpDef advanced_index_assign() {
  return general<AdvancedIndexAttrs>(
      {.name = "_advanced_index_assign",
       .doc =
           "data[..., indices_0, indices_1, ...] = value in place, value being broadcast to the selection. Gives data. "
           "Raises ValueError when the shapes do not fit and MXNetError when data belongs to a recorded graph.",
       .inputs = {"data", "value", "indices"},
       .variadic = true,
       .compose = [](std::span<const NDArray> in, const AdvancedIndexAttrs& a) -> std::vector<NDArray> {
         const OpDef& put = find_op("_advanced_index_put");
         dispatch_detail::check_not_on_tape(put, in.first(1));
         const Shape selected = selected_shape("assignment", in[0].shape(), a.axes, in.subspan(2));
         check(broadcast_shapes(selected, in[1].shape(), "assignment") == selected, ErrorKind::kValue,
               "assignment: a value of shape {} does not fit the {} elements selected; it must broadcast to them",
               to_string(in[1].shape()), to_string(selected));
         const ThreadStateScope scope(kWithoutRecording);
         std::vector<NDArray> inputs = inputs_from(in, 0);
         inputs[1] = cast_to(in[1], in[0].dtype());
         inputs[0] = contiguous(in[0]);
         invoke(put, make_attrs(a), inputs, {});
         if (!in[0].is_contiguous()) copy_into(in[0], inputs[0]);
         return {in[0]};
       },
       .mutates = 1,
       .samples = assignments()});
}

}  // namespace

Operators advanced_index_operators() {
  return {advanced_index(), advanced_index_add(), advanced_index_put(), advanced_index_assign()};
}

}  // namespace headrace
