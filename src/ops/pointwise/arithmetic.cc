// Arithmetic on two operands.

#include <numbers>

#include "ops/pointwise/binary_rows.h"

namespace headrace {
namespace {

BinaryRow add() {
  return {.name = "add",
          .doc = "Sum of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a + b; },
          .swap = Swap::kCommutes,
          .nd = "add",
          .elemwise = "elemwise_add",
          .nd_scalar = "plus",
          .nd_python = {"nd.add"},
          .quantized = "_contrib_quantized_elemwise_add",
          .np = "add",
          .np_python = {"np.add"}};
}

BinaryRow subtract() {
  return {.name = "subtract",
          .doc = "Difference of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a - b; },
          .nd = "sub",
          .elemwise = "elemwise_sub",
          .nd_scalar = "minus",
          .nd_python = {"nd.subtract"},
          .np = "subtract",
          .np_python = {"np.subtract"},
          .np_dtypes = dtype_rules::promoted_numeric};
}

BinaryRow multiply() {
  return {.name = "multiply",
          .doc = "Product of two arrays, element by element.",
          .formula = [](Expr a, Expr b) { return a * b; },
          .swap = Swap::kCommutes,
          .nd = "mul",
          .elemwise = "elemwise_mul",
          .nd_scalar = "mul",
          .nd_python = {"nd.multiply"},
          .quantized = "_contrib_quantized_elemwise_mul",
          .np = "multiply",
          .np_python = {"np.multiply"}};
}

BinaryRow divide() {
  return {
      .name = "divide",
      .doc =
          "Quotient of two arrays, element by element. nd divides integers towards zero; np divides them in float32.",
      .formula = [](Expr a, Expr b) { return a / b; },
      .nd = "div",
      .elemwise = "elemwise_div",
      .nd_scalar = "div",
      .nd_python = {"nd.divide", "nd.true_divide"},
      .np = "true_divide",
      .np_python = {"np.true_divide", "np.divide"},
      .np_dtypes = dtype_rules::promoted_to_float,
      .np_scalar_dtypes = dtype_rules::with_scalar_to_float};
}

BinaryRow mod() {
  return {.name = "mod",
          .doc = "Remainder of the division, element by element, with the sign of the divisor.",
          .formula = [](Expr a, Expr b) { return a % b; },
          .zero_gradient_of_integers = true,
          .nd = "mod",
          .elemwise = "_mod",
          .nd_scalar = "mod",
          .nd_python = {"nd.modulo"},
          .np = "mod",
          .np_python = {"np.mod", "np.remainder"}};
}

// What is left after taking away the remainder divides without error, but for the last bit. The remainder has the sign
// of a, so a quotient below zero is one too large where there is one; zeros have the sign of the quotient.
Expr floor_of_quotient(const Expr& a, const Expr& b) {
  const Expr rest = fmod(a, b), quotient = (a - rest) / b;
  const Expr whole = rint_down(quotient - logical_and(rest != 0, logical_xor(rest < 0, b < 0)));
  return select(logical_and(b != 0, whole != 0), whole, select(b == 0, a / b, copysign(0, a / b)));
}

BinaryRow floor_divide() {
  return {.name = "floor_divide",
          .doc = "Largest integer not above the quotient, element by element.",
          .formula = [](Expr a, Expr b) { return floor_of_quotient(a, b); },
          .zero_gradient = true,
          .np = "floor_divide",
          .np_python = {"np.floor_divide"},
          .np_dtypes = dtype_rules::promoted_numeric};
}

BinaryRow power() {
  return {.name = "power",
          .doc = "First array raised to the powers in the second, element by element.",
          .formula = [](Expr a, Expr b) { return pow(a, b); },
          .nd = "power",
          .elemwise = "_power",
          .nd_scalar = "power",
          .nd_python = {"nd.power"},
          .np = "power",
          .np_python = {"np.power"},
          .low = 0.5};
}

BinaryRow maximum() {
  return {.name = "maximum",
          .doc = "The larger of two elements; of equal ones the first. NaN wins.",
          .formula = [](Expr a, Expr b) { return max(a, b); },
          .swap = Swap::kCommutes,
          .nd = "maximum",
          .elemwise = "_maximum",
          .nd_scalar = "maximum",
          .nd_python = {"nd.maximum"},
          .np = "maximum",
          .np_python = {"np.maximum"}};
}

BinaryRow minimum() {
  return {.name = "minimum",
          .doc = "The smaller of two elements; of equal ones the first. NaN wins.",
          .formula = [](Expr a, Expr b) { return min(a, b); },
          .swap = Swap::kCommutes,
          .nd = "minimum",
          .elemwise = "_minimum",
          .nd_scalar = "minimum",
          .nd_python = {"nd.minimum"},
          .np = "minimum",
          .np_python = {"np.minimum"}};
}

BinaryRow hypot_row() {
  return {.name = "hypot",
          .doc = "sqrt(a^2 + b^2), element by element: the hypotenuse of a right triangle.",
          .formula = [](Expr a, Expr b) { return hypot(a, b); },
          .swap = Swap::kCommutes,
          .nd = "hypot",
          .elemwise = "_hypot",
          .nd_scalar = "hypot",
          .np = "hypot",
          .np_python = {"np.hypot"},
          .np_dtypes = dtype_rules::promoted_to_float};
}

BinaryRow arctan2() {
  return {.name = "arctan2",
          .doc = "Angle of the point (b, a) in radians, in the quadrant where it lies.",
          .formula = [](Expr a, Expr b) { return atan2(a, b); },
          .np = "arctan2",
          .np_python = {"np.arctan2"},
          .np_dtypes = dtype_rules::promoted_to_float};
}

BinaryRow copysign_row() {
  return {.name = "copysign",
          .doc = "The first array with the signs of the second, element by element.",
          .formula = [](Expr a, Expr b) { return copysign(a, b); },
          .np = "copysign",
          .np_python = {"np.copysign"}};
}

BinaryRow ldexp_row() {
  return {.name = "ldexp",
          .doc = "a * 2^b, element by element.",
          .formula = [](Expr a, Expr b) { return ldexp(a, b); },
          .np = "ldexp",
          .np_python = {"np.ldexp"}};
}

BinaryRow lcm_row() {
  return {.name = "lcm",
          .doc = "Least common multiple of two integers, element by element.",
          .formula = [](Expr a, Expr b) { return lcm(a, b); },
          .zero_gradient = true,
          .swap = Swap::kCommutes,
          .np = "lcm",
          .np_python = {"np.lcm"},
          .np_dtypes = dtype_rules::promoted_integers,
          .np_scalar_dtypes = dtype_rules::promoted_integers,
          .low = 1,
          .high = 12,
          .right_low = 1,
          .right_high = 12,
          .sample_dtype = DType::kInt32};
}

BinaryRow gcd_row() {
  BinaryRow row = lcm_row();
  row.name = row.np = "gcd";
  row.doc = "Greatest common divisor of two integers, element by element.";
  row.formula = [](Expr a, Expr b) { return gcd(a, b); };
  row.np_python = {"np.gcd"};
  return row;
}

// np's functions that nd does not have.
std::vector<BinaryRow> np_rows() {
  return {{.name = "fmod",
           .doc = "Remainder of the division, element by element, with the sign of the dividend.",
           .formula = [](Expr a, Expr b) { return fmod(a, b); },
           .zero_gradient_of_integers = true,
           .np = "fmod",
           .np_python = {"np.fmod"}},
          {.name = "float_power",
           .doc = "First array raised to the powers in the second, in floating point.",
           .formula = [](Expr a, Expr b) { return pow(a, b); },
           .np = "float_power",
           .np_python = {"np.float_power"},
           .np_dtypes = dtype_rules::promoted_to_float,
           .np_scalar_dtypes = dtype_rules::with_scalar_to_float,
           .low = 0.5},
          {.name = "heaviside",
           .doc = "0 where the first array is negative, 1 where it is positive, else the second.",
           .formula = [](Expr a, Expr b) { return select(isnan(a), a, select(a == 0, b, a > 0)); },
           .np = "heaviside",
           .np_python = {"np.heaviside"},
           .np_dtypes = dtype_rules::promoted_to_float,
           .np_scalar_dtypes = dtype_rules::with_scalar_to_float},
          {.name = "fmax",
           .doc = "The larger of two elements; where one is NaN the other.",
           .formula = [](Expr a, Expr b) { return select(isnan(a), b, select(isnan(b), a, max(a, b))); },
           .swap = Swap::kCommutes,
           .np = "fmax",
           .np_python = {"np.fmax"}},
          {.name = "fmin",
           .doc = "The smaller of two elements; where one is NaN the other.",
           .formula = [](Expr a, Expr b) { return select(isnan(a), b, select(isnan(b), a, min(a, b))); },
           .swap = Swap::kCommutes,
           .np = "fmin",
           .np_python = {"np.fmin"}},
          {.name = "logaddexp",
           .doc = "log(exp(a) + exp(b)), element by element, without overflow.",
           // Equal infinities have no difference.
           .formula = [](Expr a,
                         Expr b) { return select(a == b, a + std::numbers::ln2, max(a, b) + log1p(exp(-abs(a - b)))); },
           .gradient = [](Expr a, Expr b, Expr y, Expr dy) -> std::vector<Expr> {
             return {dy * exp(a - y), dy * exp(b - y)};
           },
           .swap = Swap::kCommutes,
           .np = "logaddexp",
           .np_python = {"np.logaddexp"},
           .np_dtypes = dtype_rules::promoted_to_float,
           .np_scalar_dtypes = dtype_rules::with_scalar_to_float}};
}

}  // namespace

std::vector<BinaryRow> arithmetic_rows() {
  std::vector<BinaryRow> rows = {add(),          subtract(),     multiply(),  divide(),  mod(),
                                 floor_divide(), power(),        maximum(),   minimum(), hypot_row(),
                                 arctan2(),      copysign_row(), ldexp_row(), lcm_row(), gcd_row()};
  for (BinaryRow& row : np_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace headrace
