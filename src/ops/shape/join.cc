// Operators that put arrays side by side.

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "op/copy_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "ops/shape/geometry.h"
#include "ops/sparse/joined_matrices.h"

namespace headrace {
namespace {

struct ConcatAttrs {
  int64_t num_args = 0;
  int64_t dim = 1;
  static constexpr auto kFields =
      fields(field(&ConcatAttrs::dim, "dim", "The axis along which the arrays are joined."),
             field(&ConcatAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs());
};

struct ConcatenateAttrs {
  std::optional<int64_t> axis = 0;
  int64_t num_args = 0;
  static constexpr auto kFields = fields(
      field(&ConcatenateAttrs::axis, "axis", "The axis along which the arrays are joined; None: flattened first."),
      field(&ConcatenateAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs());
};

struct StackAttrs {
  int64_t axis = 0;
  int64_t num_args = 0;
  static constexpr auto kFields =
      fields(field(&StackAttrs::axis, "axis", "Where the new axis goes."),
             field(&StackAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs());
};

struct CountAttrs {
  int64_t num_args = 0;
  static constexpr auto kFields =
      fields(field(&CountAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs());
};

enum class Joined : uint8_t {
  kAlongAxis,
  kStacked,
  kStackedAsFirst,  // arrays of as many elements take the shape of the first, as MXNet's stack has it
};

// The axis of the result along which inputs follow each other, once all shapes are known to fit.
int64_t joined_axis(const Infer& i, int64_t axis, Joined joined) {
  i.require(i.input_count() > 0, ErrorKind::kValue, "at least one array is needed");
  const bool stacked = joined != Joined::kAlongAxis;
  const Shape& first = i.shape(0);
  i.require(stacked || !first.empty(), ErrorKind::kValue, "arrays of shape () cannot be joined; use stack");
  int64_t ndim = static_cast<int64_t>(first.size()) + (stacked ? 1 : 0);
  axis = normalize_axis(axis, ndim, i.name());
  for (size_t k = 1; k < i.input_count(); ++k) {
    bool fits = i.shape(k).size() == first.size();
    for (size_t d = 0; fits && d < first.size(); ++d)
      fits = i.shape(k)[d] == first[d] || (!stacked && static_cast<int64_t>(d) == axis);
    fits = fits || (joined == Joined::kStackedAsFirst && element_count(i.shape(k)) == element_count(first));
    i.require(fits, ErrorKind::kValue, "array {} has shape {}, which does not fit {}{}", k, to_string(i.shape(k)),
              to_string(first), stacked ? "; all shapes must be equal" : " beside axis " + std::to_string(axis));
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime,
              "array {} holds {}, but array 0 holds {}; convert one with astype", k, dtype_name(i.dtype(k)),
              dtype_name(i.dtype(0)));
  }
  return axis;
}

void infer_join(Infer& i, int64_t axis, Joined joined) {
  axis = joined_axis(i, axis, joined);
  Shape shape = i.shape(0);
  if (joined != Joined::kAlongAxis) {
    shape.insert(static_cast<size_t>(axis), static_cast<int64_t>(i.input_count()));
  } else {
    for (size_t k = 1; k < i.input_count(); ++k)
      shape[static_cast<size_t>(axis)] += i.shape(k)[static_cast<size_t>(axis)];
  }
  i.output(shape, i.dtype(0));
}

// The elements of an array, side by side in workspace.
const void* packed(KernelContext& c, const Tensor& from) {
  void* const memory = c.workspace(static_cast<size_t>(from.size) * item_size(from.dtype));
  copy_elements(c, memory, contiguous_strides(from.shape), from.data, from.strides, from.shape, from.dtype);
  return memory;
}

void run_join(KernelContext& c, int64_t axis, Joined joined) {
  const bool stacked = joined != Joined::kAlongAxis;
  const Tensor& to = c.output(0);
  size_t at = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(to.shape.size()), c.name()));
  int64_t item = static_cast<int64_t>(item_size(to.dtype)), done = 0;
  for (size_t k = 0; k < c.input_count(); ++k) {
    const Tensor& from = c.input(k);
    Strides strides = contiguous_strides(to.shape);
    int64_t step = strides[at];
    if (stacked) strides.erase(at);
    char* const place = to.as<char>() + done * step * item;
    if (stacked && from.shape != c.input(0).shape) {
      const Shape& first = c.input(0).shape;
      copy_elements(c, place, strides, packed(c, from), contiguous_strides(first), first, to.dtype);
    } else {
      copy_elements(c, place, strides, from.data, from.strides, from.shape, to.dtype);
    }
    done += stacked ? 1 : from.shape[at];
  }
}

void concat_back(Gradient& g, int64_t axis) {
  axis = normalize_axis(axis, static_cast<int64_t>(g.head().ndim()), g.op().name.c_str());
  int64_t begin = 0;
  for (size_t k = 0; k < g.input_count(); ++k) {
    int64_t end = begin + g.input(k).shape()[static_cast<size_t>(axis)];
    if (g.wants(k)) g.set(k, call("slice_axis", {g.head()}, {{"axis", axis}, {"begin", begin}, {"end", end}}));
    begin = end;
  }
}

void stack_back(Gradient& g, int64_t axis) {
  axis = normalize_axis(axis, static_cast<int64_t>(g.head().ndim()), g.op().name.c_str());
  for (size_t k = 0; k < g.input_count(); ++k) {
    if (!g.wants(k)) continue;
    int64_t at = static_cast<int64_t>(k);
    NDArray part = call("slice_axis", {g.head()}, {{"axis", axis}, {"begin", at}, {"end", at + 1}});
    g.set(k, call("_reshape_to", {part}, {{"shape", g.input(k).shape()}}));
  }
}

// Arrays that are joined agree, and agree with the result, except along the axis. There up to `most` that are not known
// are equal parts of what the others leave.
void complete_join(Completion& c, int64_t axis, size_t most) {
  std::optional<Shape> known;
  if (c.has_output_rank()) known = c.output();
  for (size_t i = 0; i < c.input_count() && !known; ++i)
    if (c.has_rank(i)) known = c.shape(i);
  if (!known || known->empty()) return;
  const auto at = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(known->size()), c.name()));
  Shape common(known->size(), -1);
  const auto gather = [&](const Shape& shape) {
    for (size_t k = 0; k < std::min(shape.size(), common.size()); ++k)
      if (k != at && common[k] == -1) common[k] = shape[k];
  };
  gather(*known);
  for (size_t i = 0; i < c.input_count(); ++i)
    if (c.has_rank(i)) gather(c.shape(i));
  for (size_t i = 0; i < c.input_count(); ++i) c.set(i, common);  // raises where the shapes do not agree
  c.set_output(0, common);
  int64_t sum = 0;
  std::vector<size_t> unknown;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const int64_t extent = c.shape(i)[at];
    sum += std::max<int64_t>(extent, 0);
    if (extent == -1) unknown.push_back(i);
  }
  if (unknown.empty()) {
    Shape result(known->size(), -1);
    result[at] = sum;
    c.set_output(0, result);
  }
  if (!c.has_output_rank() || c.output()[at] == -1 || unknown.empty() || unknown.size() > most) return;
  const auto parts = static_cast<int64_t>(unknown.size());
  const int64_t rest = c.output()[at] - sum;
  if (rest < 0 || rest % parts != 0) return;
  Shape part(known->size(), -1);
  part[at] = rest / parts;
  for (const size_t i : unknown) c.set(i, part);
}

void complete_stack(Completion& c, int64_t axis, Joined joined) {
  const auto takes = [&](size_t i) { return joined == Joined::kStacked || !c.has_rank(i); };
  Shape one;
  if (c.has_output_rank() && !c.output().empty()) {
    one = c.output();
    one.erase(static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(one.size()), c.name())));
    for (size_t i = 0; i < c.input_count(); ++i)
      if (takes(i)) c.set(i, one);
  }
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has_rank(i) || (i > 0 && joined == Joined::kStackedAsFirst)) continue;
    one = c.shape(i);
    const auto ndim = static_cast<int64_t>(one.size()) + 1;
    one.insert(static_cast<size_t>(normalize_axis(axis, ndim, c.name())), static_cast<int64_t>(c.input_count()));
    c.set_output(0, one);
  }
}

template <size_t kMostUnknown = 1>
OpDef concat() {
  return general<ConcatAttrs>({
      .name = "Concat",
      .aliases = {"concat"},
      .python = {"nd.concat", "nd.Concat"},
      .doc = R"(Arrays joined along an existing axis. All other extents and the dtypes must agree.

Example: arrays of shape (2, 3) and (2, 5) joined with dim=1 give (2, 8). Csr matrices joined with dim=0 give a csr
matrix. Raises ValueError for shapes that do not fit.)",
      .variadic = true,
      .complete = [](Completion& c, const ConcatAttrs& a) { complete_join(c, a.dim, kMostUnknown); },
      .infer = [](Infer& i, const ConcatAttrs& a) { infer_join(i, a.dim, Joined::kAlongAxis); },
      .kernel = [](KernelContext& c, const ConcatAttrs& a) { run_join(c, a.dim, Joined::kAlongAxis); },
      .storage_forms = {{{StorageKind::kCsr},
                         {StorageKind::kCsr},
                         [](SparseContext& c, const ConcatAttrs&) { join_csr_rows(c); },
                         [](const ConcatAttrs& a) { return a.dim == 0 || a.dim == -2; }}},
      .quantization = quantization(
          {.becomes = "_contrib_quantized_concat", .where = [](const ConcatAttrs& a) { return a.dim > 0; }}),
      .gradient = [](Gradient& g, const ConcatAttrs& a) { concat_back(g, a.dim); },
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .samples = {std::vector{uniform({2, 3}), uniform({2, 1})}},
  });
}

// The same for the parameters of recurrent layers, which files of MXNet join with an operator of their own: the first
// weights of both directions depend on inputs that may not be known.
OpDef rnn_param_concat() {
  OpDef op = concat<2>();
  op.name = "_rnn_param_concat";
  op.aliases = {};
  op.python = {"nd._internal._rnn_param_concat"};
  op.quantization = {};
  op.doc = "Concat for the parameters of the operator RNN.";
  return op;
}

std::vector<NDArray> flattened(std::span<const NDArray> arrays) {
  std::vector<NDArray> flat;
  for (const NDArray& one : arrays) flat.push_back(call("_reshape_to", {one}, {{"shape", Shape{one.size()}}}));
  return flat;
}

std::vector<NDArray> concat_along(std::span<const NDArray> arrays, int64_t axis) {
  static const OpDef& op = find_op("Concat");
  return invoke_all(op, make_attrs(ConcatAttrs{.num_args = static_cast<int64_t>(arrays.size()), .dim = axis}), arrays);
}

OpDef concatenate() {
  return general<ConcatenateAttrs>({
      .name = "_npi_concatenate",
      .aliases = {"_np_concat"},
      .python = {"np.concatenate"},
      .doc = R"(Arrays joined along an existing axis, or flattened and joined with axis=None. Dtypes must agree.

Raises ValueError for shapes that do not fit.)",
      .inputs = {"seq"},
      .variadic = true,
      .list_input = true,
      .array_names = {.inputs = "data", .outputs = {"out"}},
      .complete =
          [](Completion& c, const ConcatenateAttrs& a) {
            if (a.axis) complete_join(c, *a.axis, 1);
          },
      .compose =
          [](std::span<const NDArray> in, const ConcatenateAttrs& a) {
            return a.axis ? concat_along(in, *a.axis) : concat_along(flattened(in), 0);
          },
      .samples = {std::vector{uniform({2, 3}), uniform({1, 3})}},
  });
}

template <bool kNp>
OpDef stack() {
  constexpr Joined kJoined = kNp ? Joined::kStacked : Joined::kStackedAsFirst;
  return general<StackAttrs>({
      .name = kNp ? "_npi_stack" : "stack",
      .python = {kNp ? "np.stack" : "nd.stack"},
      .doc =
          kNp ? "Arrays of one shape and dtype joined along a new axis. Raises ValueError for shapes that differ."
              : "Arrays of one dtype joined along a new axis, in the shape of the first. Raises ValueError for arrays "
                "of another number of elements.",
      .inputs = {kNp ? "arrays" : "data"},
      .variadic = true,
      .list_input = kNp,
      .complete = [](Completion& c, const StackAttrs& a) { complete_stack(c, a.axis, kJoined); },
      .infer = [](Infer& i, const StackAttrs& a) { infer_join(i, a.axis, kJoined); },
      .kernel = [](KernelContext& c, const StackAttrs& a) { run_join(c, a.axis, kJoined); },
      .gradient = [](Gradient& g, const StackAttrs& a) { stack_back(g, a.axis); },
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3}), uniform({2, 3})}, make_attrs(StackAttrs{.axis = 1})}},
  });
}

// NumPy's stacks: each array gets at least so many axes, then they are joined.
template <class Prepare>
OpDef np_join(const char* name, const char* python, const char* argument, ArrayNames names, const char* doc,
              Prepare prepare, int64_t (*axis_of)(const NDArray& first)) {
  return general<CountAttrs>({
      .name = name,
      .python = {python},
      .doc = doc,
      .inputs = {argument},
      .variadic = true,
      .list_input = true,
      .array_names = std::move(names),
      .compose =
          [prepare, axis_of](std::span<const NDArray> in, const CountAttrs&) {
            std::vector<NDArray> arrays;
            for (const NDArray& one : in) arrays.push_back(prepare(one));
            check(!arrays.empty(), ErrorKind::kValue, "at least one array is needed to join");
            return concat_along(arrays, axis_of(arrays[0]));
          },
      .samples = {std::vector{uniform({2, 3}), uniform({2, 3})}},
  });
}

NDArray column(const NDArray& array) {
  return array.ndim() < 2 ? call("_reshape_to", {array}, {{"shape", Shape{array.size(), 1}}}) : array;
}

}  // namespace

Operators join_operators() {
  return {
      concat(),
      rnn_param_concat(),
      concatenate(),
      stack<false>(),
      stack<true>(),
      np_join(
          "_npi_vstack", "np.vstack", "arrays", {}, "Arrays joined along the first axis; vectors become rows.",
          [](const NDArray& a) { return call("_np_atleast_2d", {a}); }, [](const NDArray&) { return int64_t{0}; }),
      np_join(
          "_npi_hstack", "np.hstack", "arrays", {.inputs = "data", .outputs = {"out"}},
          "Arrays joined along the second axis, vectors along the first.",
          [](const NDArray& a) { return call("_np_atleast_1d", {a}); },
          [](const NDArray& first) { return first.ndim() == 1 ? int64_t{0} : int64_t{1}; }),
      np_join(
          "_npi_dstack", "np.dstack", "arrays", {.inputs = "data", .outputs = {"out"}},
          "Arrays joined along the third axis.", [](const NDArray& a) { return call("_np_atleast_3d", {a}); },
          [](const NDArray&) { return int64_t{2}; }),
      np_join("_npi_column_stack", "np.column_stack", "tup", {},
              "Arrays joined along the second axis; vectors become columns.", column,
              [](const NDArray&) { return int64_t{1}; }),
  };
}

}  // namespace headrace
