#include "op/fused.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "engine/runtime.h"

namespace headrace {
namespace {

using OpPtr = std::shared_ptr<const OpDef>;

// What a formula computes, as a text: node by node, with the numbers of the arguments.
std::u32string formula_text(const Formula& formula) {
  std::u32string text = {static_cast<char32_t>(formula.num_inputs), static_cast<char32_t>(formula.num_parameters)};
  std::unordered_map<const Expr::Node*, size_t> numbers;
  for (const Expr& expr : topological_order(formula.outputs)) {
    const bool has_value = expr.kind() == Expr::Kind::kConstant;
    const bool has_index = expr.kind() == Expr::Kind::kInput || expr.kind() == Expr::Kind::kParameter;
    const auto value = has_value ? std::bit_cast<uint64_t>(expr.value()) : uint64_t{0};
    text += {static_cast<char32_t>(expr.kind()),
             static_cast<char32_t>(expr.arity() > 0 ? static_cast<int>(expr.opcode()) : 0),
             static_cast<char32_t>(expr.is_stop_gradient()),
             static_cast<char32_t>(has_index ? expr.index() : 0),
             static_cast<char32_t>(value >> 32),
             static_cast<char32_t>(value)};
    for (int i = 0; i < expr.arity(); ++i) text += static_cast<char32_t>(numbers.at(expr.argument(i).node()));
    numbers.emplace(expr.node(), numbers.size());
  }
  for (const Expr& output : formula.outputs) text += static_cast<char32_t>(numbers.at(output.node()));
  return text;
}

struct FusedAttrs {
  std::array<double, kMostFusedParameters> values{};
  static constexpr auto kFields = fields();
};

OpPtr operator_of(const Formula& formula) {
  auto body = std::make_shared<Pointwise>();
  body->formula = formula;
  for (int k = 0; k < formula.num_parameters; ++k)
    body->parameter_offsets.push_back(static_cast<size_t>(k) * sizeof(double));
  body->dtypes = dtype_rules::like_first;
  auto op = std::make_shared<OpDef>();
  set_attrs_type<FusedAttrs>(*op);
  op->name = "_fused";
  op->inputs.assign(static_cast<size_t>(formula.num_inputs), "data");
  set_pointwise(*op, std::move(body));
  return op;
}

// The fused operators that are in use, by their formulas: equal parts of graphs, such as the steps of a recurrent
// layer, share an operator and what is compiled for it.
class FusedInUse {
 public:
  OpPtr find(const Formula& formula) {
    const std::u32string text = formula_text(formula);
    const std::lock_guard guard(mutex_);
    std::weak_ptr<const OpDef>& known = known_[text];
    if (OpPtr op = known.lock()) return op;
    OpPtr made = operator_of(formula);
    known = made;
    if (known_.size() > most_) forget_unused();
    return made;
  }

 private:
  void forget_unused() {
    std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
    most_ = std::max(kLeast, 2 * known_.size());
  }

  static constexpr size_t kLeast = 256;
  std::mutex mutex_;
  std::unordered_map<std::u32string, std::weak_ptr<const OpDef>> known_;  // these two: guarded by mutex_
  size_t most_ = kLeast;
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

OpPtr FusedBuilder::make() { return service<FusedInUse>().find({inputs_, parameters_, std::move(outputs_)}); }

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
