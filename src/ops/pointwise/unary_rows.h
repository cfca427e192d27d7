// One row per function of one number, from which its operators for nd and np arrays are made.
#pragma once

#include <string>
#include <vector>

#include "op/pointwise.h"

namespace headrace {

struct UnaryRow {
  std::string name;  // registered for nd; np's is "_npi_<name>" unless `np_name` says otherwise
  std::string doc;
  FormulaFn formula;        // of x
  FormulaFn gradient = {};  // of (x, y, dy)
  bool zero_gradient = false;
  bool differentiable = true;
  std::vector<std::string> aliases = {};
  bool has_method = true;                   // NDArray.<name> exists
  std::vector<std::string> nd_python = {};  // besides "nd.<name>"; names of aliases are added
  std::vector<std::string> np_python = {};  // "np.exp"; empty: np has no such function
  std::string np_name = {};
  std::vector<std::string> np_aliases = {};
  DTypeRule dtypes = dtype_rules::numeric;
  DTypeRule np_dtypes = dtype_rules::numeric;
  double low = -2, high = 2;  // of the samples
  DType sample_dtype = DType::kFloat32;
};

// The operators of one row.
void add_unary(const UnaryRow& row, Operators& operators);
Operators make_unary(const std::vector<UnaryRow>& rows);

}  // namespace headrace
