// Arithmetic on two operands.

#include "ops/pointwise/binary_rows.h"

namespace headrace {
namespace {

BinaryRow add() {
  return {.name = "add", .doc = "Sum of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a + b; },
          .swap = Swap::kCommutes,
          .nd = "add", .elemwise = "elemwise_add", .nd_scalar = "plus", .nd_python = {"nd.add"},
          .np = "add", .np_python = {"np.add"}};
}

BinaryRow subtract() {
  return {.name = "subtract", .doc = "Difference of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a - b; },
          .nd = "sub", .elemwise = "elemwise_sub", .nd_scalar = "minus", .nd_python = {"nd.subtract"},
          .np = "subtract", .np_python = {"np.subtract"}, .np_dtypes = dtype_rules::promoted_numeric};
}

BinaryRow multiply() {
  return {.name = "multiply", .doc = "Product of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a * b; },
          .swap = Swap::kCommutes,
          .nd = "mul", .elemwise = "elemwise_mul", .nd_scalar = "mul", .nd_python = {"nd.multiply"},
          .np = "multiply", .np_python = {"np.multiply"}};
}

BinaryRow divide() {
  return {.name = "divide",
          .doc = "Quotient of two arrays, element by element. nd divides integers towards zero; np divides them in float32.",
          .formula = [](Expr a, Expr b) { return a / b; },
          .nd = "div", .elemwise = "elemwise_div", .nd_scalar = "div", .nd_python = {"nd.divide", "nd.true_divide"},
          .np = "true_divide", .np_python = {"np.true_divide", "np.divide"},
          .np_dtypes = dtype_rules::promoted_to_float, .np_scalar_dtypes = dtype_rules::with_scalar_to_float};
}

BinaryRow mod() {
  return {.name = "mod", .doc = "Remainder of the division, element by element, with the sign of the divisor.",
          .formula = [](Expr a, Expr b) { return a % b; },
          .nd = "mod", .elemwise = "_mod", .nd_scalar = "mod", .nd_python = {"nd.modulo"},
          .np = "mod", .np_python = {"np.mod", "np.remainder"}};
}

BinaryRow floor_divide() {
  return {.name = "floor_divide", .doc = "Largest integer not above the quotient, element by element.",
          .formula = [](Expr a, Expr b) { return (a - a % b) / b; },
          .zero_gradient = true,
          .np = "floor_divide", .np_python = {"np.floor_divide"}, .np_dtypes = dtype_rules::promoted_numeric};
}

BinaryRow power() {
  return {.name = "power", .doc = "First array raised to the powers in the second, element by element.",
          .formula = [](Expr a, Expr b) { return pow(a, b); },
          .nd = "power", .elemwise = "_power", .nd_scalar = "power", .nd_python = {"nd.power"},
          .np = "power", .np_python = {"np.power"},
          .low = 0.5};
}

BinaryRow maximum() {
  return {.name = "maximum", .doc = "The larger of two elements; of equal ones the first. NaN wins.",
          .formula = [](Expr a, Expr b) { return max(a, b); },
          .swap = Swap::kCommutes,
          .nd = "maximum", .elemwise = "_maximum", .nd_scalar = "maximum", .nd_python = {"nd.maximum"},
          .np = "maximum", .np_python = {"np.maximum"}};
}

BinaryRow minimum() {
  return {.name = "minimum", .doc = "The smaller of two elements; of equal ones the first. NaN wins.",
          .formula = [](Expr a, Expr b) { return min(a, b); },
          .swap = Swap::kCommutes,
          .nd = "minimum", .elemwise = "_minimum", .nd_scalar = "minimum", .nd_python = {"nd.minimum"},
          .np = "minimum", .np_python = {"np.minimum"}};
}

BinaryRow hypot_row() {
  return {.name = "hypot", .doc = "sqrt(a^2 + b^2), element by element: the hypotenuse of a right triangle.",
          .formula = [](Expr a, Expr b) { return hypot(a, b); },
          .swap = Swap::kCommutes,
          .nd = "hypot", .elemwise = "_hypot", .nd_scalar = "hypot",
          .np = "hypot", .np_python = {"np.hypot"},
          .np_dtypes = dtype_rules::promoted_to_float};
}

BinaryRow arctan2() {
  return {.name = "arctan2", .doc = "Angle of the point (b, a) in radians, in the quadrant where it lies.",
          .formula = [](Expr a, Expr b) { return atan2(a, b); },
          .np = "arctan2", .np_python = {"np.arctan2"},
          .np_dtypes = dtype_rules::promoted_to_float};
}

BinaryRow copysign_row() {
  return {.name = "copysign", .doc = "The first array with the signs of the second, element by element.",
          .formula = [](Expr a, Expr b) { return copysign(a, b); },
          .np = "copysign", .np_python = {"np.copysign"}};
}

BinaryRow ldexp_row() {
  return {.name = "ldexp", .doc = "a * 2^b, element by element.",
          .formula = [](Expr a, Expr b) { return ldexp(a, b); },
          .np = "ldexp", .np_python = {"np.ldexp"}};
}

BinaryRow lcm_row() {
  return {.name = "lcm", .doc = "Least common multiple of two integers, element by element.",
          .formula = [](Expr a, Expr b) { return lcm(a, b); },
          .zero_gradient = true,
          .swap = Swap::kCommutes,
          .np = "lcm", .np_python = {"np.lcm"},
          .np_dtypes = dtype_rules::promoted_integers, .np_scalar_dtypes = dtype_rules::promoted_integers,
          .low = 1, .high = 12, .right_low = 1, .right_high = 12, .sample_dtype = DType::kInt32};
}

BinaryRow gcd_row() {
  BinaryRow row = lcm_row();
  row.name = row.np = "gcd";
  row.doc = "Greatest common divisor of two integers, element by element.";
  row.formula = [](Expr a, Expr b) { return gcd(a, b); };
  row.np_python = {"np.gcd"};
  return row;
}

}  // namespace

std::vector<BinaryRow> arithmetic_rows() {
  return {add(),     subtract(), multiply(),  divide(),  mod(),          floor_divide(), power(),  maximum(),
          minimum(), hypot_row(), arctan2(), copysign_row(), ldexp_row(), lcm_row(),      gcd_row()};
}

}  // namespace headrace
