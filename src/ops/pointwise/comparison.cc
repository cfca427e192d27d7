// Comparisons and logic on two operands. nd gives 0 and 1 in the dtype of the arrays, np gives bool.

#include <fmt/format.h>

#include "ops/pointwise/binary_rows.h"

namespace headrace {
namespace {

struct Comparison {
  const char* np;  // also the row's name
  const char* nd;
  const char *np_mirror, *nd_mirror;  // what holds with the operands exchanged; empty: the same
  const char* symbol;
  Expr (*formula)(const Expr& a, const Expr& b);
};

const Comparison kComparisons[] = {
    {"equal", "equal", "", "", "a == b", [](const Expr& a, const Expr& b) { return a == b; }},
    {"not_equal", "not_equal", "", "", "a != b", [](const Expr& a, const Expr& b) { return a != b; }},
    {"less", "lesser", "greater", "greater", "a < b", [](const Expr& a, const Expr& b) { return a < b; }},
    {"less_equal", "lesser_equal", "greater_equal", "greater_equal", "a <= b",
     [](const Expr& a, const Expr& b) { return a <= b; }},
    {"greater", "greater", "less", "lesser", "a > b", [](const Expr& a, const Expr& b) { return a > b; }},
    {"greater_equal", "greater_equal", "less_equal", "lesser_equal", "a >= b",
     [](const Expr& a, const Expr& b) { return a >= b; }},
    {"logical_and", "logical_and", "", "", "a and b", [](const Expr& a, const Expr& b) { return logical_and(a, b); }},
    {"logical_or", "logical_or", "", "", "a or b", [](const Expr& a, const Expr& b) { return logical_or(a, b); }},
    {"logical_xor", "logical_xor", "", "", "a xor b", [](const Expr& a, const Expr& b) { return logical_xor(a, b); }},
};

}  // namespace

std::vector<BinaryRow> comparison_rows() {
  std::vector<BinaryRow> rows;
  for (const Comparison& c : kComparisons) {
    bool mirrored = *c.np_mirror != 0;
    rows.push_back(
        {.name = c.np,
         .doc = fmt::format("Whether {}, element by element: 1 where it holds and 0 elsewhere in nd, bool in np.",
                            c.symbol),
         .formula = [f = c.formula](Expr a, Expr b) { return f(a, b); },
         .zero_gradient = true,
         .swap = mirrored ? Swap::kMirror : Swap::kCommutes,
         .nd = c.nd,
         .elemwise = std::string("_") + c.nd,
         .nd_scalar = c.nd,
         .nd_mirror = c.nd_mirror,
         .nd_python = {std::string("nd.") + c.nd},
         .np = c.np,
         .np_mirror = c.np_mirror,
         .np_python = {std::string("np.") + c.np},
         .nd_scalar_dtypes = dtype_rules::same,
         .np_dtypes = dtype_rules::predicate,
         .np_scalar_dtypes = dtype_rules::predicate});
  }
  return rows;
}

}  // namespace headrace
