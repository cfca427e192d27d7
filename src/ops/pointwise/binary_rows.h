// One row per function of two numbers, from which all its registered operators are made.
#pragma once

#include <string>
#include <vector>

#include "op/pointwise.h"

namespace headrace {

// How a number stands on the left: `2 - x`.
enum class Swap : uint8_t {
  kCommutes,  // as on the right
  kOwn,       // by an operator of its own, "_rminus_scalar"
  kMirror,    // as the mirrored function with the number on the right: 2 < x is x > 2
};

struct BinaryRow {
  std::string name;         // np's name: what find_binary() takes
  std::string doc;          // one sentence
  FormulaFn formula;        // of (a, b)
  FormulaFn gradient = {};  // of (a, b, y, dy): both gradients; derived when missing
  bool zero_gradient = false;
  bool zero_gradient_of_integers = false;  // where the result holds integers
  Swap swap = Swap::kOwn;

  // nd: "broadcast_<nd>", the form for equal shapes, and "_<nd_scalar>_scalar". An empty word: no such operator.
  std::string nd = {}, elemwise = {}, nd_scalar = {}, nd_mirror = {};
  std::vector<std::string> nd_python = {};
  std::string quantized = {};  // what `elemwise` becomes in quantized graphs; empty: nothing
  // np: "_npi_<np>" and "_npi_<np>_scalar".
  std::string np = {}, np_mirror = {};
  std::vector<std::string> np_python = {};

  DTypeRule nd_dtypes = dtype_rules::same, nd_scalar_dtypes = dtype_rules::with_scalar;
  DTypeRule np_dtypes = dtype_rules::promoted, np_scalar_dtypes = dtype_rules::with_scalar;
  // Where the samples' values lie, of the first and of the second operand.
  double low = -2, high = 2, right_low = 0.5, right_high = 2;
  DType sample_dtype = DType::kFloat32;
};

std::vector<BinaryRow> arithmetic_rows();
std::vector<BinaryRow> comparison_rows();
std::vector<BinaryRow> bitwise_rows();

}  // namespace headrace
