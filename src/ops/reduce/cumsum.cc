#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/reduce/scan.h"

namespace headrace {
namespace {

struct CumsumAttrs {
  std::optional<int64_t> axis = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&CumsumAttrs::axis, "axis", "Axis to sum along; None: the flattened array."),
             field(&CumsumAttrs::dtype, "dtype",
                   "dtype of the result and of the sums; None: that of the input, int64 for bool."));
};

struct ScanAttrs {
  int64_t axis = 0;
  bool reverse = false;
  static constexpr auto kFields = fields(field(&ScanAttrs::axis, "axis", "Axis to sum along."),
                                         field(&ScanAttrs::reverse, "reverse", "From the end to the beginning."));
};

OpDef scan() {
  return general<ScanAttrs>(
      {.name = "_cumulative_sum",
       .doc = "Running sum along one axis, from either end.",
       .infer =
           [](Infer& i, const ScanAttrs& a) {
             normalize_axis(a.axis, static_cast<int64_t>(i.shape(0).size()), i.name());
             i.output(i.shape(0), i.dtype(0));
             i.cost(100 + static_cast<double>(i.size(0)) * 0.7);
           },
       .kernel =
           [](KernelContext& c, const ScanAttrs& a) {
             const Shape& shape = c.input(0).shape;
             const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), c.name());
             cumulative_sum(c, c.input(0), AxisSpace::along(shape, axis), a.reverse, c.output(0));
           },
       .gradient =
           [](Gradient& g, const ScanAttrs& a) {
             g.set(0, call(g.op(), make_attrs(ScanAttrs{a.axis, !a.reverse}), {g.head()}));
           },
       .saves_inputs = kNothing,
       .samples = {uniform({5}), Sample({uniform({2, 3, 4})}, make_attrs(ScanAttrs{.axis = 1}))}});
}

OpDef cumsum(const char* name, std::vector<std::string> python, const char* input) {
  return general<CumsumAttrs>(
      {.name = name,
       .python = std::move(python),
       .doc = "Running sum along `axis`: result[i] = a[0] + ... + a[i]. Without an axis the array is flattened first. "
              "Raises "
              "ValueError for an axis out of range.",
       .inputs = {input},
       .result_dtype = result_dtypes::counting,
       .compose = [](std::span<const NDArray> in, const CumsumAttrs& a) -> std::vector<NDArray> {
         const bool counts = !a.dtype && in[0].dtype() == DType::kBool;
         NDArray x = a.dtype || counts ? cast_to(in[0], a.dtype.value_or(DType::kInt64)) : in[0];
         if (!a.axis && x.ndim() != 1) x = call("_reshape_to", {x}, {{"shape", Shape{x.size()}}});
         return {call("_cumulative_sum", {x}, {{"axis", a.axis.value_or(0)}})};
       },
       .samples = {uniform({2, 3})}});
}

}  // namespace

Operators cumsum_operators() {
  return {scan(), cumsum("cumsum", {"nd.cumsum"}, "a"), cumsum("_np_cumsum", {"np.cumsum", "ndarray.cumsum"}, "a")};
}

}  // namespace headrace
