#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

PointwiseSpec common_spec(const UnaryRow& row, std::string name, DTypeRule dtypes) {
  return {
      .op = {.name = std::move(name),
             .doc = row.doc + "\n\nThe result has the shape of the input. Integers are computed in floating point and "
                              "truncated to their dtype where the function is not an integer one.",
             .np_inputs = {"x"},
             .zero_gradient = row.zero_gradient,
             .samples = {uniform({2, 3}, row.low, row.high, row.sample_dtype),
                         uniform({0, 3}, row.low, row.high, row.sample_dtype)}},
      .formula = row.formula,
      .gradient = row.gradient,
      .differentiable = row.differentiable,
      .dtypes = dtypes};
}

}  // namespace

void add_unary(const UnaryRow& row, Operators& operators) {
  PointwiseSpec nd = common_spec(row, row.name, row.dtypes);
  nd.op.aliases = row.aliases;
  nd.op.python = row.nd_python;
  nd.op.python.push_back("nd." + row.name);
  if (row.has_method) nd.op.python.push_back("NDArray." + row.name);
  operators.push_back(pointwise(std::move(nd)));
  if (row.np_python.empty()) return;
  PointwiseSpec np = common_spec(row, row.np_name.empty() ? "_npi_" + row.name : row.np_name, row.np_dtypes);
  np.op.aliases = row.np_aliases;
  np.op.python = row.np_python;
  operators.push_back(pointwise(std::move(np)));
}

Operators make_unary(const std::vector<UnaryRow>& rows) {
  Operators operators;
  for (const UnaryRow& row : rows) add_unary(row, operators);
  return operators;
}

}  // namespace headrace
