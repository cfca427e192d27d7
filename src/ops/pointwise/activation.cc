// Activation functions of neural networks.

#include "op/invoke.h"
#include "ops/families.h"
#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

std::vector<UnaryRow> activation_rows() {
  return {
      {.name = "relu", .doc = "max(x, 0), element by element. Its gradient at 0 is 0.",
       .formula = [](Expr x) { return max(x, 0); },
       .gradient = [](Expr, Expr y, Expr dy) { return select(y > 0, dy, 0); },
       .np_python = {"npx.relu"}, .np_name = "_npx_relu"},
      {.name = "sigmoid", .doc = "1 / (1 + exp(-x)), element by element.",
       .formula = [](Expr x) { return 1 / (1 + exp(-x)); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * y * (1 - y); },
       .np_python = {"npx.sigmoid"}, .np_name = "_npx_sigmoid"},
      {.name = "softsign", .doc = "x / (1 + |x|), element by element.",
       .formula = [](Expr x) { return x / (1 + abs(x)); },
       .gradient = [](Expr x, Expr, Expr dy) { return dy / square(1 + abs(x)); }, .has_method = false},
  };
}

}  // namespace

std::vector<OpDef> activation_operators() { return make_unary(activation_rows()); }

}  // namespace headrace
