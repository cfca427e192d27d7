// Rounding, and questions about single numbers. Their gradients are zero.

#include "ops/families.h"
#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

std::vector<UnaryRow> rounding_rows() {
  return {
      {.name = "floor", .doc = "Largest integer not above x, element by element.",
       .formula = [](Expr x) { return floor(x); }, .zero_gradient = true, .np_python = {"np.floor"}},
      {.name = "ceil", .doc = "Smallest integer not below x, element by element.",
       .formula = [](Expr x) { return ceil(x); }, .zero_gradient = true, .np_python = {"np.ceil"}},
      {.name = "trunc", .doc = "x without its fraction, element by element.",
       .formula = [](Expr x) { return trunc(x); }, .zero_gradient = true, .np_python = {"np.trunc"}},
      {.name = "fix", .doc = "The integer next to x towards zero, element by element.",
       .formula = [](Expr x) { return trunc(x); }, .zero_gradient = true, .np_python = {"np.fix"}},
      {.name = "round", .doc = "The nearest integer, halves away from zero, element by element.",
       .formula = [](Expr x) { return round(x); }, .zero_gradient = true},
      {.name = "rint", .doc = "The nearest integer, halves towards minus infinity, element by element.",
       .formula = [](Expr x) { return rint_down(x); }, .zero_gradient = true, .np_python = {"np.rint"}},
  };
}

OpDef question(std::string name, std::vector<std::string> python, const char* doc, FormulaFn formula) {
  return pointwise({.name = std::move(name),
                    .python = std::move(python),
                    .doc = doc,
                    .np_inputs = {"x"},
                    .formula = std::move(formula),
                    .zero_gradient = true,
                    .dtypes = dtype_rules::predicate,
                    .samples = {uniform({2, 3}), values({0, -kInf, kInf, kNan})}});
}

// np's gives bool; nd.contrib's the same values in the dtype of the input.
void add_question(const char* word, const char* doc, FormulaFn formula, std::vector<OpDef>& operators) {
  operators.push_back(question(std::string("_npi_") + word, {std::string("np.") + word}, doc, formula));
  operators.push_back(pointwise({.name = std::string("_contrib_") + word,
                                 .python = {std::string("nd.contrib.") + word},
                                 .doc = std::string(doc) + " Gives 0 and 1 in the dtype of the input.",
                                 .formula = formula,
                                 .zero_gradient = true,
                                 .samples = {uniform({2, 3}), values({0, -kInf, kInf, kNan})}}));
}

}  // namespace

std::vector<OpDef> rounding_operators() {
  std::vector<OpDef> operators = make_unary(rounding_rows());
  add_question("isnan", "Whether the element is NaN.", [](Expr x) { return isnan(x); }, operators);
  add_question("isinf", "Whether the element is infinite.", [](Expr x) { return isinf(x); }, operators);
  add_question("isfinite", "Whether the element is neither infinite nor NaN.", [](Expr x) { return isfinite(x); },
               operators);
  operators.push_back(question("_npi_isposinf", {"np.isposinf"}, "Whether the element is plus infinity.",
                               [](Expr x) { return isinf(x) * (x > 0); }));
  operators.push_back(question("_npi_isneginf", {"np.isneginf"}, "Whether the element is minus infinity.",
                               [](Expr x) { return isinf(x) * (x < 0); }));
  operators.push_back(question("_npi_logical_not", {"np.logical_not"}, "Whether the element is zero.",
                               [](Expr x) { return logical_not(x); }));
  operators.push_back(pointwise({.name = "logical_not",
                                 .python = {"nd.logical_not"},
                                 .doc = "1 where the element is zero, 0 elsewhere, in the dtype of the input.",
                                 .formula = [](Expr x) { return logical_not(x); },
                                 .zero_gradient = true,
                                 .samples = {uniform({2, 3}), values({0, 1, -1})}}));
  operators.push_back(pointwise({.name = "_npi_bitwise_not",
                                 .python = {"np.bitwise_not", "np.invert"},
                                 .doc = "All bits inverted; `not` for bool. Raises TypeError for floats.",
                                 .np_inputs = {"x"},
                                 .formula = [](Expr x) { return ~x; },
                                 .zero_gradient = true,
                                 .dtypes = dtype_rules::promoted_integers,
                                 .samples = {integers({2, 3}, -5, 5)}}));
  return operators;
}

}  // namespace headrace
