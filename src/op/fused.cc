#include "op/fused.h"

#include <algorithm>
#include <array>

namespace headrace {
namespace {

struct FusedAttrs {
  std::array<double, kMostFusedParameters> values{};
  static constexpr auto kFields = fields();
};

}  // namespace

int FusedBuilder::add_input() {
  const Expr value = input(inputs_++);
  arrays_.push_back({value, value});
  return static_cast<int>(arrays_.size()) - 1;
}

int FusedBuilder::add(const OpDef& op, std::span<const int> inputs, DType dtype) {
  std::vector<Expr> arguments, scalars;
  for (int i : inputs) arguments.push_back(arrays_[static_cast<size_t>(i)].stored);
  for (int k = 0; k < op.pointwise->formula.num_parameters; ++k) scalars.push_back(parameter(parameters_++));
  const Expr value = substitute(op.pointwise->formula.outputs[0], arguments, scalars);
  Expr stored = round_to(value, dtype);
  if (stored.kind() == Expr::Kind::kConstant) stored = at_run_time(stored);  // the next part computes in its own type
  arrays_.push_back({value, stored});
  return static_cast<int>(arrays_.size()) - 1;
}

void FusedBuilder::store(int array) { outputs_.push_back(arrays_[static_cast<size_t>(array)].value); }

std::shared_ptr<const OpDef> FusedBuilder::make() {
  auto body = std::make_shared<Pointwise>();
  body->formula = {inputs_, parameters_, std::move(outputs_)};
  for (int k = 0; k < parameters_; ++k) body->parameter_offsets.push_back(static_cast<size_t>(k) * sizeof(double));
  body->dtypes = dtype_rules::like_first;
  auto op = std::make_shared<OpDef>();
  set_attrs_type<FusedAttrs>(*op);
  op->name = "_fused";
  op->inputs.assign(static_cast<size_t>(inputs_), "data");
  set_pointwise(*op, std::move(body));
  return op;
}

AttrsPtr fused_attrs(std::span<const double> parameters) {
  FusedAttrs attrs;
  std::ranges::copy(parameters, attrs.values.begin());
  return make_attrs(attrs);
}

void append_parameters(const Pointwise& body, const Attrs& attrs, SmallVector<double, 8>& parameters) {
  const char* base = static_cast<const char*>(attrs.data());
  for (size_t offset : body.parameter_offsets) parameters.push_back(*reinterpret_cast<const double*>(base + offset));
}

}  // namespace headrace
