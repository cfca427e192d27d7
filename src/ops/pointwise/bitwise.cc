// Bit by bit logic on integers and bool; on bool it is logic. np only, as in MXNet.

#include <fmt/format.h>

#include "ops/pointwise/binary_rows.h"

namespace headrace {
namespace {

BinaryRow bitwise(std::string name, const char* word, FormulaFn formula, Swap swap) {
  return {.name = name,
          .doc = fmt::format("{} of two integers or bools, element by element. Raises TypeError for floats.", word),
          .formula = std::move(formula),
          .zero_gradient = true,
          .swap = swap,
          .np = name,
          .np_python = {"np." + name},
          .np_dtypes = dtype_rules::promoted_integers,
          .np_scalar_dtypes = dtype_rules::promoted_integers,
          .low = 0,
          .high = 9,
          .right_low = 0,
          .right_high = 9,
          .sample_dtype = DType::kInt32};
}

}  // namespace

std::vector<BinaryRow> bitwise_rows() {
  return {bitwise(
              "bitwise_and", "Bitwise and", [](Expr a, Expr b) { return a & b; }, Swap::kCommutes),
          bitwise(
              "bitwise_or", "Bitwise or", [](Expr a, Expr b) { return a | b; }, Swap::kCommutes),
          bitwise(
              "bitwise_xor", "Bitwise exclusive or", [](Expr a, Expr b) { return a ^ b; }, Swap::kCommutes),
          bitwise(
              "left_shift", "The first moved left by the bits in the second,", [](Expr a, Expr b) { return a << b; },
              Swap::kOwn),
          bitwise(
              "right_shift", "The first moved right by the bits in the second,", [](Expr a, Expr b) { return a >> b; },
              Swap::kOwn)};
}

}  // namespace headrace
