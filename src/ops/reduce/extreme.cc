// Largest and smallest elements.
#include <fmt/format.h>

#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

// Every element that equals the extreme gets the whole gradient.
OpDef extreme_gradient() {
  return pointwise({.op = {.name = "_extreme_gradient",
                           .doc = "The gradient where an element is the extreme, zero elsewhere.",
                           .inputs = {"data", "extreme", "gradient"},
                           .samples = {Sample({uniform({2, 3}), uniform({2, 3}), uniform({2, 3})}),
                                       Sample({values({1, 2, 2}), values({2, 2, 2}), uniform({3})})}},
                    .formula = [](Expr x, Expr extreme, Expr dy) { return select(x == extreme, dy, 0.0); }});
}

OpDef legacy_extreme(Combine combine, const char* name, const char* word) {
  return reduction_operator<LegacyReduceAttrs>(
      std::make_shared<const Reduction>(combine), keeps_dtype<LegacyReduceAttrs>,
      {.name = name,
       .aliases = {fmt::format("{}_axis", name)},
       .python = {fmt::format("nd.{}", name), fmt::format("nd.{}_axis", name), fmt::format("NDArray.{}", name)},
       .doc =
           fmt::format("{} element along `axis` (an integer, a tuple, or None for all axes: shape (1,)). NaN wins. The "
                       "gradient goes to every element that ties. Raises ValueError when there is nothing to reduce.",
                       word),
       .gradient = elementwise_gradient<LegacyReduceAttrs>("_extreme_gradient"),
       .saves_outputs = kEverything,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(LegacyReduceAttrs{.axis = Shape{1}}))}});
}

OpDef numpy_extreme(Combine combine, const char* name, const char* word) {
  return reduction_operator<NumpyReduceAttrs>(
      std::make_shared<const Reduction>(combine), keeps_dtype<NumpyReduceAttrs>,
      {.name = fmt::format("_np_{}", name),
       .aliases = {fmt::format("_np_a{}", name), fmt::format("_npi_{}", name)},
       .python = {fmt::format("np.{}", name), fmt::format("np.a{}", name), fmt::format("ndarray.{}", name)},
       .doc =
           fmt::format("{} element along `axis` (an integer, a tuple, or None for all axes: shape ()). NaN wins. The "
                       "gradient goes to every element that ties. Raises ValueError when there is nothing to reduce.",
                       word),
       .inputs = {"a"},
       .gradient = elementwise_gradient<NumpyReduceAttrs>("_extreme_gradient"),
       .saves_outputs = kEverything,
       .samples = {uniform({2, 3, 4}), Sample({uniform({2, 3, 4})}, make_attrs(NumpyReduceAttrs{.axis = Shape{1}}))}});
}

}  // namespace

Operators extreme_operators() {
  return {extreme_gradient(), legacy_extreme(Combine::kMax, "max", "Largest"),
          legacy_extreme(Combine::kMin, "min", "Smallest"), numpy_extreme(Combine::kMax, "max", "Largest"),
          numpy_extreme(Combine::kMin, "min", "Smallest")};
}

}  // namespace headrace
