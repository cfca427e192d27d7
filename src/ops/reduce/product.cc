// Products, and sums and products that skip NaN.
#include <fmt/format.h>

#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

using ReductionPtr = std::shared_ptr<const Reduction>;

Expr without_nan(Expr x, double instead) { return select(isnan(x), instead, x); }

ReductionPtr product() { return std::make_shared<const Reduction>(Combine::kProd); }
ReductionPtr nan_sum() {
  return std::make_shared<const Reduction>(Combine::kSum, [](Expr x) { return without_nan(x, 0); });
}
ReductionPtr nan_product() {
  return std::make_shared<const Reduction>(Combine::kProd, [](Expr x) { return without_nan(x, 1); });
}

const char* kProductAxisNote =
    "\n\nReduces over `axis` (an integer, a tuple, or None for all axes). The dtype is kept. Raises ValueError for an "
    "axis that is out of range or named twice.";

OpDef legacy_product(const char* name, ReductionPtr reduction, const char* doc, const char* gradient) {
  return reduction_operator<LegacyReduceAttrs>(
      std::move(reduction), keeps_dtype<LegacyReduceAttrs>,
      {.name = name,
       .python = {fmt::format("nd.{}", name), fmt::format("NDArray.{}", name)},
       .doc = std::string(doc) + kProductAxisNote,
       .gradient = elementwise_gradient<LegacyReduceAttrs>(gradient),
       .saves_outputs = kEverything,
       .samples = {uniform({2, 3, 4}, 0.5, 2),
                   Sample({uniform({2, 3, 4}, 0.5, 2)}, make_attrs(LegacyReduceAttrs{.axis = Shape{1}}))}});
}

OpDef numpy_product(const char* name, std::vector<std::string> aliases, const char* python, ReductionPtr reduction,
                    const char* doc, const char* gradient) {
  return reduction_operator<NumpySumAttrs>(
      std::move(reduction), sum_dtype<NumpySumAttrs>,
      {.name = name,
       .aliases = std::move(aliases),
       .python = {fmt::format("np.{}", python), fmt::format("ndarray.{}", python)},
       .doc = std::string(doc) + kProductAxisNote,
       .inputs = {"a"},
       .gradient = elementwise_gradient<NumpySumAttrs>(gradient),
       .saves_outputs = kEverything,
       .samples = {uniform({2, 3, 4}, 0.5, 2),
                   Sample({uniform({2, 3, 4}, 0.5, 2)}, make_attrs(NumpySumAttrs{.axis = Shape{1}}))}});
}

OpDef product_gradient(const char* name, const char* doc, FormulaFn formula) {
  return pointwise({.op = {.name = name,
                           .doc = doc,
                           .inputs = {"data", "result", "gradient"},
                           .samples = {Sample({uniform({2, 3}, 0.5, 2), uniform({2, 3}), uniform({2, 3})}),
                                       Sample({values({kNan, -1, 2}), uniform({3}), uniform({3})})}},
                    .formula = std::move(formula)});
}

}  // namespace

Operators product_operators() {
  return {
      product_gradient("_prod_gradient", "gradient * result / data; NaN where data is 0.",
                       [](Expr x, Expr y, Expr dy) { return dy * y / x; }),
      product_gradient("_nansum_gradient", "gradient where data is a number, 0 where it is NaN.",
                       [](Expr x, Expr, Expr dy) { return select(isnan(x), 0.0, dy); }),
      product_gradient("_nanprod_gradient", "gradient * result / data, 0 where data is NaN.",
                       [](Expr x, Expr y, Expr dy) { return select(isnan(x), 0.0, dy * y / without_nan(x, 1)); }),
      legacy_product("prod", product(), "Product of elements. A product over all axes has shape (1,).",
                     "_prod_gradient"),
      legacy_product("nansum", nan_sum(), "Sum of elements, NaN counting as 0.", "_nansum_gradient"),
      legacy_product("nanprod", nan_product(), "Product of elements, NaN counting as 1.", "_nanprod_gradient"),
      numpy_product("_np_prod", {"_np_product"}, "prod", product(), "Product of elements. bool arrays give int64.",
                    "_prod_gradient"),
      numpy_product("_npi_nansum", {}, "nansum", nan_sum(), "Sum of elements, NaN counting as 0.", "_nansum_gradient"),
      numpy_product("_npi_nanprod", {}, "nanprod", nan_product(), "Product of elements, NaN counting as 1.",
                    "_nanprod_gradient"),
  };
}

}  // namespace headrace
