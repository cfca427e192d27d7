// sort, argsort and topk.
#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

struct SortAttrs {
  std::optional<int64_t> axis = -1;
  bool is_ascend = true;
  static constexpr auto kFields =
      fields(field(&SortAttrs::axis, "axis", "Axis to sort along; None: the flattened array."),
             field(&SortAttrs::is_ascend, "is_ascend", "Smallest first."));
};

struct ArgsortAttrs {
  std::optional<int64_t> axis = -1;
  bool is_ascend = true;
  DType dtype = DType::kFloat32;
  static constexpr auto kFields =
      fields(field(&ArgsortAttrs::axis, "axis", "Axis to sort along; None: the flattened array."),
             field(&ArgsortAttrs::is_ascend, "is_ascend", "Smallest first."),
             field(&ArgsortAttrs::dtype, "dtype", "dtype of the positions."));
};

struct NumpySortAttrs {
  std::optional<int64_t> axis = -1;
  std::optional<std::string> kind = {};
  std::optional<std::string> order = {};
  static constexpr auto kFields =
      fields(field(&NumpySortAttrs::axis, "axis", "Axis to sort along; None: the flattened array."),
             field(&NumpySortAttrs::kind, "kind", "Accepted for compatibility: sorting is always stable."),
             field(&NumpySortAttrs::order, "order", "Must be None."));
};

struct TopkAttrs {
  std::optional<int64_t> axis = -1;
  int64_t k = 1;
  std::string ret_typ = "indices";
  bool is_ascend = false;
  DType dtype = DType::kFloat32;
  static constexpr auto kFields =
      fields(field(&TopkAttrs::axis, "axis", "Axis to search; None: the flattened array."),
             field(&TopkAttrs::k, "k", "How many; less than 1: all."),
             field(&TopkAttrs::ret_typ, "ret_typ",
                   "What is given: the values, their indices, both, or a mask of the input's shape.")
                 .one_of("value|indices|mask|both"),
             field(&TopkAttrs::is_ascend, "is_ascend", "The smallest instead of the largest."),
             field(&TopkAttrs::dtype, "dtype", "dtype of the indices."));
};

// The axis of a call, on the array itself or on its flattened form.
AxisSpace space_of(const char* name, const Shape& shape, const std::optional<int64_t>& axis) {
  if (!axis) return {1, element_count(shape), 1};
  return AxisSpace::along(shape, normalize_axis(*axis, static_cast<int64_t>(shape.size()), name));
}

// The shape of a result with `length` elements along the axis.
Shape result_shape(const char* name, const Shape& shape, const std::optional<int64_t>& axis, int64_t length) {
  if (!axis) return {length};
  Shape result = shape;
  result[static_cast<size_t>(normalize_axis(*axis, static_cast<int64_t>(shape.size()), name))] = length;
  return result;
}

double sort_cost(const Infer& i) { return 200 + static_cast<double>(i.size(0)) * 15; }

int64_t topk_count(const TopkAttrs& a, const AxisSpace& space) { return a.k < 1 ? space.length : a.k; }

// The gradient of values that were moved: `head` put back where `positions` along the axis say they came from.
void put_back(Gradient& g, const NDArray& head, const std::optional<int64_t>& axis, int64_t k, bool ascending) {
  const OpDef& topk = find_op("topk");
  const Shape& shape = g.input(0).shape();
  NDArray positions =
      call(topk, make_attrs(TopkAttrs{axis, k, "indices", ascending, DType::kInt64}), {without_history(g.input(0))});
  NDArray flat = call("_put_along_axis", {head, positions},
                      {{"axis", axis.value_or(0)}, {"shape", axis ? shape : Shape{g.input(0).size()}}});
  g.set(0, axis ? flat : call("_reshape_to", {flat}, {{"shape", shape}}));
}

OpDef sort() {
  return general<SortAttrs>(
      {.name = "sort",
       .aliases = {"_npi_sort"},
       .python = {"nd.sort", "NDArray.sort"},
       .doc = "A sorted copy along `axis`; NaN counts as the largest value. The gradient follows the elements. Raises "
              "ValueError for an axis out of range.",
       .counted_outputs = always(2),
       .array_names = {.numbers_counted = true},
       .infer =
           [](Infer& i, const SortAttrs& a) {
             i.output(result_shape(i.name(), i.shape(0), a.axis, space_of(i.name(), i.shape(0), a.axis).length),
                      i.dtype(0));
             i.cost(sort_cost(i));
           },
       .kernel =
           [](KernelContext& c, const SortAttrs& a) {
             sort_values(c, c.input(0), space_of(c.name(), c.input(0).shape, a.axis), a.is_ascend, c.output(0));
           },
       .gradient = [](Gradient& g, const SortAttrs& a) { put_back(g, g.head(), a.axis, 0, a.is_ascend); },
       .samples = {uniform({2, 5}), Sample({uniform({3, 4})}, make_attrs(SortAttrs{.axis = 0, .is_ascend = false}))}});
}

OpDef argsort() {
  return general<ArgsortAttrs>(
      {.name = "argsort",
       .aliases = {"_npi_argsort"},
       .python = {"nd.argsort", "NDArray.argsort"},
       .doc = "The positions that sort along `axis`; equal values keep their order, NaN counts as the largest value. "
              "Raises "
              "ValueError for an axis out of range.",
       .infer =
           [](Infer& i, const ArgsortAttrs& a) {
             i.output(result_shape(i.name(), i.shape(0), a.axis, space_of(i.name(), i.shape(0), a.axis).length),
                      a.dtype);
             i.cost(sort_cost(i));
           },
       .kernel =
           [](KernelContext& c, const ArgsortAttrs& a) {
             const AxisSpace space = space_of(c.name(), c.input(0).shape, a.axis);
             if (space.length > 0) select_first(c, c.input(0), space, space.length, a.is_ascend, nullptr, &c.output(0));
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .samples = {uniform({2, 5})}});
}

void check_order(const NumpySortAttrs& a, const char* name) {
  check(!a.order, ErrorKind::kValue, "{}: order must be None: arrays have no fields", name);
}

OpDef numpy_sort() {
  return general<NumpySortAttrs>(
      {.name = "_np_sort",
       .python = {"np.sort"},
       .doc = "A sorted copy along `axis`; NaN comes last. The gradient follows the elements. Raises ValueError for an "
              "axis "
              "out of range.",
       .inputs = {"a"},
       .compose = [](std::span<const NDArray> in, const NumpySortAttrs& a) -> std::vector<NDArray> {
         check_order(a, "sort");
         return {call(find_op("sort"), make_attrs(SortAttrs{a.axis, true}), {in[0]})};
       },
       .spelling =
           [](const NumpySortAttrs& a, size_t) {
             check_order(a, "sort");
             return Spelling{"sort", {{"axis", or_none(a.axis)}, {"is_ascend", true}}};
           },
       .samples = {uniform({2, 5})}});
}

OpDef numpy_argsort() {
  return general<NumpySortAttrs>(
      {.name = "_np_argsort",
       .python = {"np.argsort", "ndarray.argsort"},
       .doc = "The positions that sort along `axis`, as int64; equal values keep their order, NaN comes last. Raises "
              "ValueError for an axis out of range.",
       .inputs = {"a"},
       .result_dtype = result_dtypes::always(DType::kInt64),
       .compose = [](std::span<const NDArray> in, const NumpySortAttrs& a) -> std::vector<NDArray> {
         check_order(a, "argsort");
         return {call(find_op("argsort"), make_attrs(ArgsortAttrs{a.axis, true, DType::kInt64}), {in[0]})};
       },
       .spelling =
           [](const NumpySortAttrs& a, size_t) {
             check_order(a, "argsort");
             return Spelling{"argsort", {{"axis", or_none(a.axis)}, {"is_ascend", true}, {"dtype", DType::kInt64}}};
           },
       .samples = {uniform({2, 5})}});
}

void infer_topk(Infer& i, const TopkAttrs& a) {
  const AxisSpace space = space_of(i.name(), i.shape(0), a.axis);
  const int64_t k = topk_count(a, space);
  i.require(k <= space.length, ErrorKind::kValue, "k={} is more than the {} element(s) along the axis of shape {}", k,
            space.length, to_string(i.shape(0)));
  const Shape result = result_shape(i.name(), i.shape(0), a.axis, k);
  if (a.ret_typ == "mask") i.output(i.shape(0), i.dtype(0));
  if (a.ret_typ == "value" || a.ret_typ == "both") i.output(result, i.dtype(0));
  if (a.ret_typ == "indices" || a.ret_typ == "both") i.output(result, a.dtype);
  i.cost(200 + static_cast<double>(i.size(0)) * (k * 8 >= space.length ? 15 : 1));
}

void topk_kernel(KernelContext& c, const TopkAttrs& a) {
  const AxisSpace space = space_of(c.name(), c.input(0).shape, a.axis);
  const int64_t k = topk_count(a, space);
  if (c.output(0).size == 0) return;
  if (a.ret_typ == "mask") return mark_first(c, c.input(0), space, k, a.is_ascend, c.output(0));
  const bool both = a.ret_typ == "both";
  select_first(c, c.input(0), space, k, a.is_ascend, a.ret_typ == "indices" ? nullptr : &c.output(0),
               both                     ? &c.output(1)
               : a.ret_typ == "indices" ? &c.output(0)
                                        : nullptr);
}

OpDef topk() {
  return general<TopkAttrs>(
      {.name = "topk",
       .aliases = {"_npx_topk"},
       .python = {"nd.topk", "npx.topk", "NDArray.topk"},
       .doc = "The k largest elements along `axis`, largest first (smallest with is_ascend=True); NaN counts as the "
              "largest "
              "value, and of equal values the first come first.\n\n"
              "`ret_typ` says what is given: 'indices' (of dtype `dtype`), 'value', 'both' (values, indices), or "
              "'mask' (1 at "
              "the chosen elements). The gradient of the values goes to the chosen elements. Raises ValueError for an "
              "axis "
              "out of range or a k larger than its extent.",
       .output_count = [](const TopkAttrs& a) -> size_t { return a.ret_typ == "both" ? 2 : 1; },
       .counted_outputs = [](const TopkAttrs& a) -> size_t {
         return a.ret_typ == "value" || a.ret_typ == "both" ? 2 : 1;
       },
       .array_names = {.numbers_counted = true},
       .result_dtype = [](std::span<const DType> inputs, const TopkAttrs& a,
                          size_t k) { return a.ret_typ == "indices" || k == 1 ? a.dtype : inputs[0]; },
       .infer = infer_topk,
       .kernel = topk_kernel,
       .gradient =
           [](Gradient& g, const TopkAttrs& a) {
             if ((a.ret_typ == "value" || a.ret_typ == "both") && g.has_head(0))
               put_back(g, g.head(0), a.axis, a.k, a.is_ascend);
             else
               g.set(0, zeros_like(g.input(0)));
           },
       .samples = {uniform({2, 5}), Sample({uniform({2, 5})}, make_attrs(TopkAttrs{.k = 2, .ret_typ = "value"}))}});
}

}  // namespace

Operators sort_operators() { return {sort(), argsort(), numpy_sort(), numpy_argsort(), topk()}; }

}  // namespace headrace
