// take, Embedding, pick and batch_take: slices and elements along one axis.
#include "ops/index/take.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/quantization.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/index/indices.h"
#include "ops/sparse/sparse_take.h"

namespace headrace {
namespace {

struct NumpyTakeAttrs {
  std::optional<int64_t> axis = {};
  std::string mode = "raise";
  static constexpr auto kFields = fields(
      field(&NumpyTakeAttrs::axis, "axis", "Axis that the indices count along; None: the flattened array."),
      field(&NumpyTakeAttrs::mode, "mode", "Indices out of range: clip to the ends, wrap around, or raise IndexError.")
          .one_of("raise|wrap|clip"));
};

void infer_take(Infer& i, const TakeAttrs& a) {
  const Shape& shape = i.shape(0);
  i.require(!shape.empty(), ErrorKind::kValue, "expected an array of one or more dimensions, got a scalar");
  const auto axis = static_cast<size_t>(normalize_axis(a.axis, static_cast<int64_t>(shape.size()), i.name()));
  Shape result(shape.begin(), shape.begin() + axis);
  for (int64_t extent : i.shape(1)) result.push_back(extent);
  for (size_t d = axis + 1; d < shape.size(); ++d) result.push_back(shape[d]);
  i.output(result, i.dtype(0));
  i.cost(100 + static_cast<double>(element_count(result)) * static_cast<double>(item_size(i.dtype(0))) * 0.2 +
         static_cast<double>(i.size(1)) * 4);
}

int64_t taken_axis(const KernelContext& c, const Shape& shape, int64_t axis) {
  return normalize_axis(axis, static_cast<int64_t>(shape.size()), c.name());
}

void take_kernel(KernelContext& c, const TakeAttrs& a) {
  const int64_t axis = taken_axis(c, c.input(0).shape, a.axis);
  const IndexSpace space = IndexSpace::along(c.input(0).shape, axis);
  take_slices(c, c.input(0), {c.input(1), index_mode(a.mode), axis}, space, c.output(0));
}

void take_gradient(Gradient& g, const TakeAttrs& a) {
  if (!g.wants(0)) return;
  g.set(0, call(find_op("_backward_take"), make_attrs(BackwardTakeAttrs{a.axis, a.mode, g.input(0).shape()}),
                {g.head(), g.input(1)}));
}

OpDef take() {
  return general<TakeAttrs>(
      {.name = "take",
       .aliases = {"_npi_take"},
       .python = {"nd.take", "NDArray.take"},
       .doc =
           "Slices of `a` along `axis` at the given indices (of any dtype, truncated): the shape of the result is that "
           "of "
           "a with `axis` replaced by the shape of indices.\n\n"
           "Raises ValueError for an axis out of range; with mode='raise' IndexError, when the result is read, for an "
           "index out of range. The gradient of `a` sums what was taken from each slice. Rows of a csr matrix are one.",
       .inputs = {"a", "indices"},
       .complete =
           [](Completion& c, const TakeAttrs& a) {
             if (!c.has_rank(0) || !c.has_rank(1) || c.shape(0).empty()) return;
             const Shape &from = c.shape(0), &indices = c.shape(1);
             const auto axis = static_cast<size_t>(normalize_axis(a.axis, static_cast<int64_t>(from.size()), c.name()));
             Shape result(from.begin(), from.begin() + axis);
             for (int64_t extent : indices) result.push_back(extent);
             for (size_t k = axis + 1; k < from.size(); ++k) result.push_back(from[k]);
             c.set_output(0, result);
           },
       .infer = infer_take,
       .kernel = take_kernel,
       .storage_forms = sparse_take_forms(),
       .gradient = take_gradient,
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({4, 3}), integers({2, 2}, 0, 4)}),
                   Sample({uniform({4, 3}), integers({2}, 0, 3)}, make_attrs(TakeAttrs{.axis = 1, .mode = "wrap"}))}});
}

OpDef numpy_take() {
  return general<NumpyTakeAttrs>(
      {.name = "_np_take",
       .python = {"np.take", "ndarray.take"},
       .doc =
           "Slices of `a` along `axis` at the given indices; without an axis elements of the flattened array.\n\n"
           "Raises ValueError for an axis out of range; with mode='raise' IndexError, when the result is read, for an "
           "index out of range.",
       .inputs = {"a", "indices"},
       .compose = [](std::span<const NDArray> in, const NumpyTakeAttrs& a) -> std::vector<NDArray> {
         NDArray from = a.axis ? in[0] : call("_reshape_to", {in[0]}, {{"shape", Shape{in[0].size()}}});
         return {call(find_op("take"), make_attrs(TakeAttrs{a.axis.value_or(0), a.mode}), {from, in[1]})};
       },
       .spelling = [](const NumpyTakeAttrs& a, size_t) -> Spelling {
         Spelling from = Spelling::of_input(0);
         if (!a.axis) from = {"_npx_reshape", {{"newshape", Shape{-1}}}, {from}};
         return {"take", {{"axis", a.axis.value_or(0)}, {"mode", a.mode}}, {from, Spelling::of_input(1)}};
       },
       .samples = {Sample({uniform({4, 3}), integers({2, 2}, 0, 4)})}});
}

OpDef backward_take() {
  return general<BackwardTakeAttrs>(
      {.name = "_backward_take",
       .doc = "Zeros of the given shape, to whose slices the slices of the gradient are added in the order of the "
              "indices.",
       .inputs = {"gradient", "indices"},
       .infer =
           [](Infer& i, const BackwardTakeAttrs& a) {
             expect_extents(i, a.shape);
             const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(a.shape.size()), i.name());
             Shape taken(a.shape.begin(), a.shape.begin() + axis);
             for (int64_t n : i.shape(1)) taken.push_back(n);
             for (size_t k = static_cast<size_t>(axis) + 1; k < a.shape.size(); ++k) taken.push_back(a.shape[k]);
             expect_shape(i, 0, taken);
             i.output(a.shape, i.dtype(0));
             i.cost(100 + static_cast<double>(element_count(a.shape) + i.size(0)) * 0.5);
           },
       .kernel =
           [](KernelContext& c, const BackwardTakeAttrs& a) {
             const int64_t axis = taken_axis(c, a.shape, a.axis);
             const IndexSpace space = IndexSpace::along(a.shape, axis);
             add_to_slices(c, c.input(0), {c.input(1), index_mode(a.mode), axis}, space, c.output(0));
           },
       .storage_forms = sparse_take_back_forms(),
       .makes_sparse = true,
       .gradient =
           [](Gradient& g, const BackwardTakeAttrs& a) {
             if (g.wants(0))
               g.set(0, call(find_op("take"), make_attrs(TakeAttrs{a.axis, a.mode}), {g.head(), g.input(1)}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({2, 2, 3}), integers({2, 2}, -1, 5)},
                          make_attrs(BackwardTakeAttrs{.shape = {4, 3}})),
                   Sample({uniform({4, 2}), integers({2}, -3, 6)},
                          make_attrs(BackwardTakeAttrs{.axis = 1, .mode = "wrap", .shape = {4, 3}}))}});
}

struct EmbeddingAttrs {
  int64_t input_dim = 0, output_dim = 0;
  DType dtype = DType::kFloat32;
  bool sparse_grad = false;
  static constexpr auto kFields = fields(
      field(&EmbeddingAttrs::input_dim, "input_dim", "Number of rows of the table.").required().between(1, kMostInt),
      field(&EmbeddingAttrs::output_dim, "output_dim", "Length of each row.").required().between(1, kMostInt),
      field(&EmbeddingAttrs::dtype, "dtype", "dtype of the table."),
      field(&EmbeddingAttrs::sparse_grad, "sparse_grad",
            "Whether the gradient of the table is row_sparse. An index out of range is then an error in backward."));
};

OpDef embedding() {
  return general<EmbeddingAttrs>(
      {.name = "Embedding",
       .aliases = {"_npx_embedding"},
       .python = {"nd.Embedding", "npx.embedding"},
       .doc = "Rows of a table: weight[data[...]], of shape data.shape + (output_dim,). Indices out of range are "
              "clipped to "
              "the ends. The gradient of `weight` sums the rows that each index took; with sparse_grad it stores these "
              "rows alone.\n\n"
              "Raises ValueError unless weight has shape (input_dim, output_dim); with sparse_grad or a row_sparse "
              "weight IndexError, where the gradient or result is read, for an index out of range.",
       .inputs = {"data", "weight"},
       .complete =
           [](Completion& c, const EmbeddingAttrs& a) {
             c.set(1, Shape{a.input_dim, a.output_dim});
             if (c.has_rank(0)) {
               Shape result = c.shape(0);
               result.push_back(a.output_dim);
               c.set_output(0, result);
             }
             if (!c.has_output_rank() || c.output().empty()) return;
             Shape data = c.output();
             data.pop_back();
             c.set(0, data);
           },
       .result_dtype = result_dtypes::like_input(1),
       .infer =
           [](Infer& i, const EmbeddingAttrs& a) {
             i.require(i.shape(1) == Shape{a.input_dim, a.output_dim}, ErrorKind::kValue,
                       "expected a weight of shape {} (input_dim, output_dim), got {}",
                       to_string(Shape{a.input_dim, a.output_dim}), to_string(i.shape(1)));
             Shape result = i.shape(0);
             result.push_back(a.output_dim);
             i.output(result, i.dtype(1));
             i.cost(100 + static_cast<double>(i.size(0)) * (4 + static_cast<double>(a.output_dim) * 0.5));
           },
       .kernel =
           [](KernelContext& c, const EmbeddingAttrs& a) {
             take_slices(c, c.input(1), {c.input(0), IndexMode::kClip, 0}, {1, a.input_dim, a.output_dim}, c.output(0));
           },
       .storage_forms = sparse_embedding_forms(),
       .quantization = quantization({.becomes = "_contrib_quantized_embedding",
                                     .where = [](const EmbeddingAttrs& a) { return a.dtype == DType::kFloat32; },
                                     .keeps_input = [](const EmbeddingAttrs&, size_t i, size_t) { return i == 0; }}),
       .gradient =
           [](Gradient& g, const EmbeddingAttrs& a) {
             if (!g.wants(1)) return;
             const NDArray inputs[2] = {g.head(), g.input(0)};
             g.set(1, find_op("_backward_take"),
                   make_attrs(BackwardTakeAttrs{0, "clip", g.input(1).shape(), a.sparse_grad}), inputs);
           },
       .saves_inputs = 1,
       .samples = {Sample({integers({2, 3}, 0, 5), uniform({5, 4})},
                          make_attrs(EmbeddingAttrs{.input_dim = 5, .output_dim = 4}))}});
}

struct SparseEmbeddingAttrs {
  int64_t input_dim = 0, output_dim = 0;
  DType dtype = DType::kFloat32;
  bool deterministic = false;
  static constexpr auto kFields = fields(
      field(&SparseEmbeddingAttrs::input_dim, "input_dim", "Number of rows of the table.")
          .required()
          .between(1, kMostInt),
      field(&SparseEmbeddingAttrs::output_dim, "output_dim", "Length of each row.").required().between(1, kMostInt),
      field(&SparseEmbeddingAttrs::dtype, "dtype", "dtype of the table."),
      field(&SparseEmbeddingAttrs::deterministic, "deterministic", "Of no effect: the gradient always is."));
};

OpDef sparse_embedding() {
  return general<SparseEmbeddingAttrs>(
      {.name = "_contrib_SparseEmbedding",
       .python = {"nd.contrib.SparseEmbedding"},
       .doc = "Embedding with sparse_grad: rows of a table whose gradient is row_sparse. Raises as Embedding.",
       .inputs = {"data", "weight"},
       .complete =
           [](Completion& c, const SparseEmbeddingAttrs& a) {
             c.set(1, Shape{a.input_dim, a.output_dim});
           },
       .result_dtype = result_dtypes::like_input(1),
       .compose = [](std::span<const NDArray> in, const SparseEmbeddingAttrs& a) -> std::vector<NDArray> {
         return {call(find_op("Embedding"), make_attrs(EmbeddingAttrs{a.input_dim, a.output_dim, a.dtype, true}),
                      {in[0], in[1]})};
       },
       .samples = {Sample({integers({2, 3}, 0, 5), uniform({5, 4})},
                          make_attrs(SparseEmbeddingAttrs{.input_dim = 5, .output_dim = 4}))}});
}

// --- pick ------------------------------------------------------------------------------------------------------------

struct PickAttrs {
  std::optional<int64_t> axis = -1;
  bool keepdims = false;
  std::string mode = "clip";
  static constexpr auto kFields = fields(
      field(&PickAttrs::axis, "axis", "Axis to pick along; None: the flattened array."),
      field(&PickAttrs::keepdims, "keepdims", "Keep the axis with length 1."),
      field(&PickAttrs::mode, "mode", "Indices out of range: clip to the ends, wrap around, or raise IndexError.")
          .one_of("clip|wrap|raise"));
};

struct BackwardPickAttrs {
  std::optional<int64_t> axis = -1;
  std::string mode = "clip";
  Shape shape;
  static constexpr auto kFields =
      fields(field(&BackwardPickAttrs::axis, "axis", "Axis of the picking."),
             field(&BackwardPickAttrs::mode, "mode", "Treatment of indices out of range.").one_of("clip|wrap|raise"),
             field(&BackwardPickAttrs::shape, "shape", "Shape of the result.").required());
};

void infer_pick(Infer& i, const PickAttrs& a) {
  const Shape& shape = i.shape(0);
  Shape kept, gone;
  if (a.axis) {
    const int64_t axis = normalize_axis(*a.axis, static_cast<int64_t>(shape.size()), i.name());
    kept = gone = shape;
    kept[static_cast<size_t>(axis)] = 1;
    gone.erase(static_cast<size_t>(axis));
  } else {
    kept = Shape(shape.size(), 1);
  }
  int64_t rows = element_count(gone);
  i.require(i.shape(1) == gone || i.shape(1) == kept || (gone.empty() && i.size(1) == 1), ErrorKind::kValue,
            "expected indices of shape {} (data {} without the axis), got {}; give one index per row", to_string(gone),
            to_string(shape), to_string(i.shape(1)));
  i.require(rows == 0 || i.size(0) > 0, ErrorKind::kValue, "there is nothing to pick from in shape {}",
            to_string(shape));
  i.output(a.keepdims ? kept : gone.empty() ? i.shape(1) : gone, i.dtype(0));
  i.cost(100 + static_cast<double>(rows) * 4);
}

void complete_pick(Completion& c, const PickAttrs& a) {
  if (!a.axis || !c.has_rank(0) || c.shape(0).size() < 2) return;
  Shape result = c.shape(0);
  const auto axis = static_cast<size_t>(normalize_axis(*a.axis, static_cast<int64_t>(result.size()), c.name()));
  if (a.keepdims)
    result[axis] = 1;
  else
    result.erase(axis);
  c.set_output(0, result);
}

// The space of the array of `shape` that is picked from, and how.
template <class Attrs>
IndexSpace picked_space(const Shape& shape, int64_t axis, const Attrs& a) {
  return a.axis ? IndexSpace::along(shape, axis) : IndexSpace{1, element_count(shape), 1};
}

template <class Attrs>
void run_by_picking(KernelContext& c, const IndexPart& part, const Shape& shape, const Attrs& a) {
  const int64_t axis = a.axis ? normalize_axis(*a.axis, static_cast<int64_t>(shape.size()), c.name()) : 0;
  const IndexMode mode = a.mode == "raise" ? IndexMode::kRaiseNegative : index_mode(a.mode);
  part(c, c.input(0), {c.input(1), mode, axis}, picked_space(shape, axis, a), c.output(0));
}

OpDef pick() {
  return general<PickAttrs>(
      {.name = "pick",
       .aliases = {"_npx_pick", "choose_element_0index"},
       .python = {"nd.pick", "npx.pick", "NDArray.pick", "nd.choose_element_0index"},
       .doc = "One element of each row along `axis`: result[i] = data[i, index[i]]. `index` has "
              "the shape of data without the "
              "axis, or with it of length 1. The gradient goes to the picked elements.\n\n"
              "Raises ValueError for an axis out of range or an index array of another shape; "
              "with mode='raise' IndexError, when the result is read, for a negative index or one "
              "beyond the end.",
       .inputs = {"data", "index"},
       .complete = complete_pick,
       .infer = infer_pick,
       .kernel = [](KernelContext& c, const PickAttrs& a) { run_by_picking(c, pick_elements, c.input(0).shape, a); },
       .gradient =
           [](Gradient& g, const PickAttrs& a) {
             if (g.wants(0))
               g.set(0,
                     call(find_op("_backward_pick"), make_attrs(BackwardPickAttrs{a.axis, a.mode, g.input(0).shape()}),
                          {g.head(), g.input(1)}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({3, 4}), integers({3}, 0, 4)}),
                   Sample({uniform({3, 4}), integers({1, 4}, 0, 3)},
                          make_attrs(PickAttrs{.axis = 0, .keepdims = true}))}});
}

int64_t picked_rows(const Infer& i, const BackwardPickAttrs& a) {
  if (!a.axis) return 1;
  Shape rows = a.shape;
  rows.erase(static_cast<size_t>(normalize_axis(*a.axis, static_cast<int64_t>(rows.size()), i.name())));
  const int64_t count = element_count(rows);
  i.require(count == 0 || element_count(a.shape) > 0, ErrorKind::kRuntime, "there is nothing to pick from in shape {}",
            to_string(a.shape));
  return count;
}

OpDef backward_pick() {
  return general<BackwardPickAttrs>(
      {.name = "_backward_pick",
       .doc = "Zeros of the given shape with the gradient at the picked elements.",
       .inputs = {"gradient", "index"},
       .infer =
           [](Infer& i, const BackwardPickAttrs& a) {
             expect_extents(i, a.shape);
             const int64_t rows = picked_rows(i, a);
             i.require(i.size(0) == rows && i.size(1) == rows, ErrorKind::kRuntime,
                       "{} elements are picked from shape {}, got gradients of shape {} and indices of shape {}", rows,
                       to_string(a.shape), to_string(i.shape(0)), to_string(i.shape(1)));
             i.output(a.shape, i.dtype(0));
             i.cost(100 + static_cast<double>(element_count(a.shape)) * 0.1 + static_cast<double>(i.size(1)) * 4);
           },
       .kernel = [](KernelContext& c, const BackwardPickAttrs& a) { run_by_picking(c, put_elements, a.shape, a); },
       .gradient =
           [](Gradient& g, const BackwardPickAttrs& a) {
             if (!g.wants(0)) return;
             NDArray picked =
                 call(find_op("pick"), make_attrs(PickAttrs{a.axis, false, a.mode}), {g.head(), g.input(1)});
             const Shape& shape = g.input(0).shape();
             g.set(0, picked.shape() == shape ? picked : call("_reshape_to", {picked}, {{"shape", shape}}));
           },
       .saves_inputs = 1u << 1,
       .samples = {Sample({uniform({3}), integers({3}, -1, 6)}, make_attrs(BackwardPickAttrs{.shape = {3, 4}})),
                   Sample({uniform({1, 4}), integers({1, 4}, -3, 6)},
                          make_attrs(BackwardPickAttrs{.axis = 0, .mode = "wrap", .shape = {3, 4}})),
                   Sample({uniform({1}), integers({1}, 0, 12)},
                          make_attrs(BackwardPickAttrs{.axis = {}, .shape = {3, 4}}))}});
}

}  // namespace

Operators take_operators() {
  return {take(), numpy_take(), backward_take(), embedding(), sparse_embedding(), pick(), backward_pick()};
}

}  // namespace headrace
