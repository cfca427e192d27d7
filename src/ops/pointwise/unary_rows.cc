#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

PointwiseSpec common_spec(const UnaryRow& row, std::string name, DTypeRule dtypes) {
  return {.name = std::move(name),
          .doc = row.doc +
                 "\n\nThe result has the shape of the input. Integers are computed in floating point and "
                 "truncated to their dtype where the function is not an integer one.",
          .np_inputs = {"x"},
          .formula = row.formula,
          .gradient = row.gradient,
          .zero_gradient = row.zero_gradient,
          .differentiable = row.differentiable,
          .dtypes = dtypes,
          .samples = {uniform({2, 3}, row.low, row.high, row.sample_dtype),
                      uniform({0, 3}, row.low, row.high, row.sample_dtype)}};
}

}  // namespace

void add_unary(const UnaryRow& row, std::vector<OpDef>& operators) {
  PointwiseSpec nd = common_spec(row, row.name, row.dtypes);
  nd.aliases = row.aliases;
  nd.python = row.nd_python;
  nd.python.push_back("nd." + row.name);
  if (row.has_method) nd.python.push_back("NDArray." + row.name);
  operators.push_back(pointwise(std::move(nd)));
  if (row.np_python.empty()) return;
  PointwiseSpec np = common_spec(row, row.np_name.empty() ? "_npi_" + row.name : row.np_name, row.np_dtypes);
  np.aliases = row.np_aliases;
  np.python = row.np_python;
  operators.push_back(pointwise(std::move(np)));
}

std::vector<OpDef> make_unary(const std::vector<UnaryRow>& rows) {
  std::vector<OpDef> operators;
  for (const UnaryRow& row : rows) add_unary(row, operators);
  return operators;
}

}  // namespace headrace
