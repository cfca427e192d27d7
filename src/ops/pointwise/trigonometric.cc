// Trigonometric and hyperbolic functions.

#include <numbers>

#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

std::vector<UnaryRow> angle_rows() {
  return {
      {.name = "sin",
       .doc = "Sine of an angle in radians, element by element.",
       .formula = [](Expr x) { return sin(x); },
       .np_python = {"np.sin"}},
      {.name = "cos",
       .doc = "Cosine of an angle in radians, element by element.",
       .formula = [](Expr x) { return cos(x); },
       .np_python = {"np.cos"}},
      {.name = "tan",
       .doc = "Tangent of an angle in radians, element by element.",
       .formula = [](Expr x) { return tan(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * (1 + y * y); },
       .np_python = {"np.tan"},
       .low = -1,
       .high = 1},
      {.name = "arcsin",
       .doc = "Inverse sine in radians, element by element; NaN outside of [-1, 1].",
       .formula = [](Expr x) { return asin(x); },
       .np_python = {"np.arcsin"},
       .low = -0.9,
       .high = 0.9},
      {.name = "arccos",
       .doc = "Inverse cosine in radians, element by element; NaN outside of [-1, 1].",
       .formula = [](Expr x) { return acos(x); },
       .np_python = {"np.arccos"},
       .low = -0.9,
       .high = 0.9},
      {.name = "arctan",
       .doc = "Inverse tangent in radians, element by element.",
       .formula = [](Expr x) { return atan(x); },
       .np_python = {"np.arctan"}},
      {.name = "degrees",
       .doc = "Radians to degrees, element by element.",
       .formula = [](Expr x) { return x * (1 / kDegree); },
       .np_python = {"np.degrees", "np.rad2deg"},
       .dtypes = dtype_rules::numeric_by_doubles,
       .np_dtypes = dtype_rules::numeric_by_doubles},
      {.name = "radians",
       .doc = "Degrees to radians, element by element.",
       .formula = [](Expr x) { return x * kDegree; },
       .np_python = {"np.radians", "np.deg2rad"},
       .dtypes = dtype_rules::numeric_by_doubles,
       .np_dtypes = dtype_rules::numeric_by_doubles},
  };
}

std::vector<UnaryRow> hyperbolic_rows() {
  return {
      {.name = "sinh",
       .doc = "Hyperbolic sine, element by element.",
       .formula = [](Expr x) { return sinh(x); },
       .np_python = {"np.sinh"}},
      {.name = "cosh",
       .doc = "Hyperbolic cosine, element by element.",
       .formula = [](Expr x) { return cosh(x); },
       .np_python = {"np.cosh"}},
      {.name = "tanh",
       .doc = "Hyperbolic tangent, element by element.",
       .formula = [](Expr x) { return tanh(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * (1 - y * y); },
       .np_python = {"np.tanh"}},
      {.name = "arcsinh",
       .doc = "Inverse hyperbolic sine, element by element.",
       .formula = [](Expr x) { return asinh(x); },
       .np_python = {"np.arcsinh"}},
      {.name = "arccosh",
       .doc = "Inverse hyperbolic cosine, element by element; NaN below 1.",
       .formula = [](Expr x) { return acosh(x); },
       .np_python = {"np.arccosh"},
       .low = 1.5,
       .high = 3},
      {.name = "arctanh",
       .doc = "Inverse hyperbolic tangent, element by element; NaN outside of [-1, 1].",
       .formula = [](Expr x) { return atanh(x); },
       .np_python = {"np.arctanh"},
       .low = -0.9,
       .high = 0.9},
  };
}

}  // namespace

Operators trigonometric_operators() {
  Operators operators;
  for (const auto& rows : {angle_rows(), hyperbolic_rows()})
    for (const UnaryRow& row : rows) add_unary(row, operators);
  return operators;
}

}  // namespace headrace
