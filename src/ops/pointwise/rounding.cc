// Rounding, and questions about single numbers. Their gradients are zero.

#include <cmath>

#include "op/invoke.h"
#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

std::vector<UnaryRow> rounding_rows() {
  return {
      {.name = "floor",
       .doc = "Largest integer not above x, element by element.",
       .formula = [](Expr x) { return floor(x); },
       .zero_gradient = true,
       .np_python = {"np.floor"}},
      {.name = "ceil",
       .doc = "Smallest integer not below x, element by element.",
       .formula = [](Expr x) { return ceil(x); },
       .zero_gradient = true,
       .np_python = {"np.ceil"}},
      {.name = "trunc",
       .doc = "x without its fraction, element by element.",
       .formula = [](Expr x) { return trunc(x); },
       .zero_gradient = true,
       .np_python = {"np.trunc"}},
      {.name = "fix",
       .doc = "The integer next to x towards zero, element by element.",
       .formula = [](Expr x) { return trunc(x); },
       .zero_gradient = true,
       .np_python = {"np.fix"}},
      {.name = "round",
       .doc = "The nearest integer, halves away from zero, element by element.",
       .formula = [](Expr x) { return round(x); },
       .zero_gradient = true},
      {.name = "rint",
       .doc = "The nearest integer, halves towards minus infinity, element by element.",
       .formula = [](Expr x) { return rint_down(x); },
       .zero_gradient = true,
       .np_python = {"np.rint"}},
  };
}

struct AroundAttrs {
  int64_t decimals = 0;
  static constexpr auto kFields =
      fields(field(&AroundAttrs::decimals, "decimals", "Digits after the point that stay; before it when negative."));
};

struct FactorAttrs {
  double factor = 1;
  static constexpr auto kFields = fields(field(&FactorAttrs::factor, "factor", "What is rounded is x * factor."));
};

// The nearest multiple of 1 / factor, halves to the even one.
OpDef round_scaled() {
  return pointwise<FactorAttrs>({.op = {.name = "_round_scaled",
                                        .doc = "The nearest multiple of 1 / factor, halves to the even one.",
                                        .zero_gradient = true,
                                        .samples = {uniform({2, 3}), values({0.5, 1.5, 2.5, -0.5})}},
                                 .formula = [](Expr x, Expr factor) { return rint(x * factor) / factor; },
                                 .dtypes = dtype_rules::numeric});
}

std::vector<NDArray> around(std::span<const NDArray> in, const AroundAttrs& a) {
  DType dtype = in[0].dtype();
  if (!is_floating(dtype) && a.decimals >= 0) return {call("_copy", {in[0]})};
  if (is_floating(dtype) && a.decimals >= 0)
    return {call("_round_scaled", {in[0]}, {{"factor", std::pow(10.0, static_cast<double>(a.decimals))}})};
  double unit = std::pow(10.0, -static_cast<double>(a.decimals));
  NDArray tens = call("_div_scalar", {cast_to(in[0], DType::kFloat64)}, {{"scalar", unit}});
  return {cast_to(call("_mul_scalar", {call("_round_scaled", {tens})}, {{"scalar", unit}}), dtype)};
}

OpDef around_operator() {
  return general<AroundAttrs>({.name = "_npi_around",
                               .python = {"np.around", "np.round", "np.round_", "ndarray.round"},
                               .doc = "Rounded to `decimals` digits after the point, halves to the even digit.",
                               .np_inputs = {"x"},
                               .compose = around,
                               .samples = {Sample({values({0.5, 1.5, 2.5, -0.5})}),
                                           Sample({uniform({2, 3}, -200, 200)}, make_attrs(AroundAttrs{-1}))}});
}

// Bits of integers are inverted, truth values negated.
Operators bitwise_not() {
  Operators operators;
  operators.push_back(pointwise({.op = {.name = "_bitwise_not",
                                        .doc = "All bits inverted.",
                                        .zero_gradient = true,
                                        .samples = {integers({2, 3}, -5, 5)}},
                                 .formula = [](Expr x) { return ~x; },
                                 .dtypes = dtype_rules::promoted_integers}));
  operators.push_back(
      general<NoAttrs>({.name = "_npi_bitwise_not",
                        .python = {"np.bitwise_not", "np.invert"},
                        .doc = "All bits inverted; `not` for bool. Raises TypeError for floats.",
                        .np_inputs = {"x"},
                        .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                          return {call(in[0].dtype() == DType::kBool ? "_npi_logical_not" : "_bitwise_not", {in[0]})};
                        },
                        .samples = {integers({2, 3}, -5, 5)}}));
  return operators;
}

OpDef question(std::string name, std::vector<std::string> python, const char* doc, FormulaFn formula) {
  return pointwise({.op = {.name = std::move(name),
                           .python = std::move(python),
                           .doc = doc,
                           .np_inputs = {"x"},
                           .zero_gradient = true,
                           .samples = {uniform({2, 3}), values({0, -kInf, kInf, kNan})}},
                    .formula = std::move(formula),
                    .dtypes = dtype_rules::predicate});
}

// np's gives bool; nd.contrib's the same values in the dtype of the input.
void add_question(const char* word, const char* doc, FormulaFn formula, Operators& operators) {
  operators.push_back(question(std::string("_npi_") + word, {std::string("np.") + word}, doc, formula));
  operators.push_back(pointwise({.op = {.name = std::string("_contrib_") + word,
                                        .python = {std::string("nd.contrib.") + word},
                                        .doc = std::string(doc) + " Gives 0 and 1 in the dtype of the input.",
                                        .zero_gradient = true,
                                        .samples = {uniform({2, 3}), values({0, -kInf, kInf, kNan})}},
                                 .formula = formula}));
}

}  // namespace

Operators rounding_operators() {
  Operators operators = make_unary(rounding_rows());
  add_question(
      "isnan", "Whether the element is NaN.", [](Expr x) { return isnan(x); }, operators);
  add_question(
      "isinf", "Whether the element is infinite.", [](Expr x) { return isinf(x); }, operators);
  add_question(
      "isfinite", "Whether the element is neither infinite nor NaN.", [](Expr x) { return isfinite(x); }, operators);
  operators.push_back(question("_npi_isposinf", {"np.isposinf"}, "Whether the element is plus infinity.",
                               [](Expr x) { return isinf(x) * (x > 0); }));
  operators.push_back(question("_npi_isneginf", {"np.isneginf"}, "Whether the element is minus infinity.",
                               [](Expr x) { return isinf(x) * (x < 0); }));
  operators.push_back(question("_npi_logical_not", {"np.logical_not"}, "Whether the element is zero.",
                               [](Expr x) { return logical_not(x); }));
  operators.push_back(pointwise({.op = {.name = "logical_not",
                                        .python = {"nd.logical_not"},
                                        .doc = "1 where the element is zero, 0 elsewhere, in the dtype of the input.",
                                        .zero_gradient = true,
                                        .samples = {uniform({2, 3}), values({0, 1, -1})}},
                                 .formula = [](Expr x) { return logical_not(x); }}));
  operators.push_back(question("_npi_signbit", {"np.signbit"}, "Whether the sign is minus, also that of -0 and NaN.",
                               [](Expr x) { return copysign(1, x) < 0; }));
  operators.push_back(round_scaled());
  operators.push_back(around_operator());
  operators.append(bitwise_not());
  return operators;
}

}  // namespace headrace
