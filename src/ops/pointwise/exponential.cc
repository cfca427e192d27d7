// Powers, roots, exponentials, logarithms, and special functions of one operand.

#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

std::vector<UnaryRow> power_rows() {
  return {
      {.name = "negative",
       .doc = "-x, element by element.",
       .formula = [](Expr x) { return -x; },
       .has_method = false,
       .np_python = {"np.negative"}},
      {.name = "abs",
       .doc = "Absolute value, element by element. Its gradient at 0 is 0.",
       .formula = [](Expr x) { return abs(x); },
       .np_python = {"np.abs", "np.absolute", "np.fabs", "ndarray.abs"},
       .np_name = "_npi_absolute",
       .np_aliases = {"_npi_abs"}},
      {.name = "sign",
       .doc = "-1, 0 or 1 as the element is negative, zero or positive.",
       .formula = [](Expr x) { return sign(x); },
       .zero_gradient = true,
       .np_python = {"np.sign"}},
      {.name = "square",
       .doc = "x * x, element by element.",
       .formula = [](Expr x) { return square(x); },
       .np_python = {"np.square"}},
      {.name = "reciprocal",
       .doc = "1 / x, element by element.",
       .formula = [](Expr x) { return 1 / x; },
       .gradient = [](Expr, Expr y, Expr dy) { return -dy * y * y; },
       .np_python = {"np.reciprocal"},
       .low = 0.5},
      {.name = "sqrt",
       .doc = "Square root, element by element; NaN for negative elements.",
       .formula = [](Expr x) { return sqrt(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * 0.5 / y; },
       .np_python = {"np.sqrt"},
       .low = 0.5},
      {.name = "rsqrt",
       .doc = "1 / sqrt(x), element by element.",
       .formula = [](Expr x) { return rsqrt(x); },
       .low = 0.5},
      {.name = "cbrt",
       .doc = "Cube root, element by element.",
       .formula = [](Expr x) { return cbrt(x); },
       .np_python = {"np.cbrt"},
       .low = 0.5},
      {.name = "rcbrt",
       .doc = "1 / cbrt(x), element by element.",
       .formula = [](Expr x) { return rcbrt(x); },
       .low = 0.5},
  };
}

std::vector<UnaryRow> exponential_rows() {
  return {
      {.name = "exp",
       .doc = "e^x, element by element.",
       .formula = [](Expr x) { return exp(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * y; },
       .np_python = {"np.exp"}},
      {.name = "expm1",
       .doc = "e^x - 1, element by element, accurate near 0.",
       .formula = [](Expr x) { return expm1(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * (y + 1); },
       .np_python = {"np.expm1"}},
      {.name = "log",
       .doc = "Natural logarithm, element by element.",
       .formula = [](Expr x) { return log(x); },
       .np_python = {"np.log"},
       .low = 0.5},
      {.name = "log2",
       .doc = "Logarithm to base 2, element by element.",
       .formula = [](Expr x) { return log2(x); },
       .np_python = {"np.log2"},
       .low = 0.5},
      {.name = "log10",
       .doc = "Logarithm to base 10, element by element.",
       .formula = [](Expr x) { return log10(x); },
       .np_python = {"np.log10"},
       .low = 0.5},
      {.name = "log1p",
       .doc = "log(1 + x), element by element, accurate near 0.",
       .formula = [](Expr x) { return log1p(x); },
       .np_python = {"np.log1p"},
       .low = -0.5},
  };
}

std::vector<UnaryRow> special_rows() {
  return {
      {.name = "erf",
       .doc = "Gauss error function, element by element.",
       .formula = [](Expr x) { return erf(x); },
       .has_method = false,
       .np_python = {"npx.erf"},
       .np_name = "_npx_erf"},
      {.name = "erfinv",
       .doc = "Inverse of the Gauss error function, element by element; NaN outside of [-1, 1].",
       .formula = [](Expr x) { return erfinv(x); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * 0.886226925452758 * exp(y * y); },
       .has_method = false,
       .np_python = {"npx.erfinv"},
       .np_name = "_npx_erfinv",
       .low = -0.9,
       .high = 0.9},
      {.name = "gamma",
       .doc = "Gamma function, element by element.",
       .formula = [](Expr x) { return gamma(x); },
       .has_method = false,
       .np_python = {"npx.gamma"},
       .np_name = "_npx_gamma",
       .low = 0.5,
       .high = 4},
      {.name = "gammaln",
       .doc = "Logarithm of the absolute value of the gamma function, element by element.",
       .formula = [](Expr x) { return lgamma(x); },
       .has_method = false,
       .np_python = {"npx.gammaln"},
       .np_name = "_npx_gammaln",
       .low = 0.5,
       .high = 4},
      {.name = "digamma",
       .doc = "Derivative of the logarithm of the gamma function, element by element.",
       .formula = [](Expr x) { return digamma(x); },
       .has_method = false,
       .np_python = {"npx.digamma"},
       .np_name = "_npx_digamma",
       .low = 0.5,
       .high = 4},
  };
}

}  // namespace

Operators exponential_operators() {
  Operators operators;
  for (const auto& rows : {power_rows(), exponential_rows(), special_rows()})
    for (const UnaryRow& row : rows) add_unary(row, operators);
  return operators;
}

}  // namespace headrace
