#include "op/formula/choices.h"

#include <algorithm>
#include <unordered_set>

#include "op/formula/scalar.h"

namespace headrace {
namespace {

double value_of(const Expr& x, std::span<const double> parameters) noexcept {
  if (x.kind() == Expr::Kind::kConstant) return x.value();
  if (x.kind() == Expr::Kind::kParameter) return parameters[static_cast<size_t>(x.index())];
  double arguments[3] = {};
  for (int i = 0; i < x.arity(); ++i) arguments[i] = value_of(x.argument(i), parameters);
  return evaluate(x.opcode(), arguments[0], arguments[1], arguments[2]);
}

bool is_select(const Expr& x) { return x.kind() == Expr::Kind::kInstruction && x.opcode() == Opcode::kSelect; }

}  // namespace

std::vector<Expr> conditions_on_parameters(const Formula& formula) {
  std::unordered_set<const void*> varies;  // from one element to the next
  std::vector<Expr> conditions;
  for (const Expr& x : topological_order(formula.outputs)) {
    bool reads_input = x.kind() == Expr::Kind::kInput;
    for (int i = 0; i < x.arity(); ++i) reads_input |= varies.contains(x.argument(i).node());
    if (reads_input) varies.insert(x.node());
    if (!is_select(x) || varies.contains(x.argument(0).node()) || x.argument(0).kind() == Expr::Kind::kConstant)
      continue;
    const auto is_same = [&](const Expr& known) { return known.node() == x.argument(0).node(); };
    if (conditions.size() < kMostChoices && std::ranges::none_of(conditions, is_same))
      conditions.push_back(x.argument(0));
  }
  return conditions;
}

uint32_t decide(std::span<const Expr> conditions, std::span<const double> parameters) noexcept {
  uint32_t decisions = 0;
  for (size_t k = 0; k < conditions.size(); ++k)
    if (value_of(conditions[k], parameters) != 0) decisions |= 1u << k;
  return decisions;
}

Formula with_decisions(const Formula& formula, std::span<const Expr> conditions, uint32_t decisions) {
  const auto decision = [&](const Expr& condition) -> std::optional<bool> {
    for (size_t k = 0; k < conditions.size(); ++k)
      if (conditions[k].node() == condition.node()) return (decisions >> k) & 1u;
    return std::nullopt;
  };
  Formula decided{formula.num_inputs, formula.num_parameters, {}};
  for (const Expr& output : formula.outputs) decided.outputs.push_back(choose(output, decision));
  return decided;
}

}  // namespace headrace
