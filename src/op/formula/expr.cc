#include "op/formula/expr.h"

#include <unordered_map>

#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "op/formula/scalar.h"

namespace headrace {

Expr::Expr(double value) {
  auto* node = new Node;
  node->value = value;
  node_ = IntrusivePtr<const Node>(node);
}

Expr Expr::make(Opcode opcode, const Expr& a) { return make(opcode, a, a, a); }
Expr Expr::make(Opcode opcode, const Expr& a, const Expr& b) { return make(opcode, a, b, b); }

Expr Expr::make(Opcode opcode, const Expr& a, const Expr& b, const Expr& c) {
  const Expr* const arguments[] = {&a, &b, &c};
  const int arity = info(opcode).arity;
  bool all_constant = true;
  for (int i = 0; i < arity; ++i) all_constant &= arguments[i]->kind() == Kind::kConstant;
  if (all_constant) return Expr(evaluate(opcode, a.value(), b.value(), c.value()));
  auto* node = new Node;
  node->kind = Kind::kInstruction;
  node->opcode = opcode;
  node->arity = static_cast<uint8_t>(arity);
  for (int i = 0; i < arity; ++i) node->arguments[i] = arguments[i]->node_;
  return Expr(node);
}

Expr input(int i) {
  auto* node = new Expr::Node;
  node->kind = Expr::Kind::kInput;
  node->index = i;
  return Expr(node);
}

Expr parameter(int k) {
  auto* node = new Expr::Node;
  node->kind = Expr::Kind::kParameter;
  node->index = k;
  return Expr(node);
}

Expr Expr::copy_of(const Expr& x, bool stops_gradient) {
  auto* node = new Node;
  node->kind = Kind::kInstruction;
  node->arity = 1;
  node->stop_gradient = stops_gradient;
  node->arguments[0] = x.node_;
  return Expr(node);
}

Expr stop_gradient(const Expr& x) { return x.kind() == Expr::Kind::kConstant ? x : Expr::copy_of(x, true); }

Expr at_run_time(const Expr& x) { return Expr::copy_of(x, false); }

Expr round_to(const Expr& x, DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return Expr::make(Opcode::kToFloat16, x);
    case DType::kBfloat16:
      return Expr::make(Opcode::kToBfloat16, x);
    case DType::kFloat32:
      return Expr::make(Opcode::kToFloat32, x);
    case DType::kInt8:
      return Expr::make(Opcode::kToInt8, x);
    case DType::kUint8:
      return Expr::make(Opcode::kToUint8, x);
    case DType::kInt16:
      return Expr::make(Opcode::kToInt16, x);
    case DType::kUint16:
      return Expr::make(Opcode::kToUint16, x);
    case DType::kInt32:
      return Expr::make(Opcode::kToInt32, x);
    case DType::kUint32:
      return Expr::make(Opcode::kToUint32, x);
    case DType::kBool:
      return Expr::make(Opcode::kToBool, x);
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUint64:
      return x;
  }
  return x;
}

std::vector<Expr> topological_order(const std::vector<Expr>& outputs) {
  std::vector<Expr> order;
  std::unordered_set<const Expr::Node*> seen;
  std::vector<std::pair<Expr, int>> stack;  // a node and how many of its arguments were visited
  for (const Expr& output : outputs) {
    if (!seen.insert(output.node()).second) continue;
    stack.emplace_back(output, 0);
    while (!stack.empty()) {
      auto& [node, visited] = stack.back();
      if (visited == node.arity()) {
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      Expr next = node.argument(visited++);
      if (seen.insert(next.node()).second) stack.emplace_back(std::move(next), 0);
    }
  }
  return order;
}

namespace {

class Substitution {
 public:
  using Decision = FunctionRef<std::optional<bool>(const Expr& condition)>;

  Substitution(std::span<const Expr> inputs, std::span<const Expr> parameters, Decision decision)
      : inputs_(inputs), parameters_(parameters), decision_(decision) {}

  Expr of(const Expr& expression) {
    if (auto found = done_.find(expression.node()); found != done_.end()) return found->second;
    Expr result = expression;
    const auto index = static_cast<size_t>(expression.index());
    if (expression.kind() == Expr::Kind::kInput && index < inputs_.size()) {
      result = inputs_[index];
    } else if (expression.kind() == Expr::Kind::kParameter && index < parameters_.size()) {
      result = parameters_[index];
    } else if (expression.is_stop_gradient()) {
      result = stop_gradient(of(expression.argument(0)));
    } else if (expression.kind() == Expr::Kind::kInstruction && expression.opcode() == Opcode::kCopy) {
      result = at_run_time(of(expression.argument(0)));
    } else if (const std::optional<bool> holds = decided(expression)) {
      result = of(expression.argument(*holds ? 1 : 2));
    } else if (expression.kind() == Expr::Kind::kInstruction) {
      const Expr a = of(expression.argument(0));
      const Expr b = expression.arity() > 1 ? of(expression.argument(1)) : a;
      const Expr c = expression.arity() > 2 ? of(expression.argument(2)) : a;
      result = Expr::make(expression.opcode(), a, b, c);
    }
    done_.emplace(expression.node(), result);
    return result;
  }

 private:
  std::optional<bool> decided(const Expr& expression) const {
    const bool is_select = expression.kind() == Expr::Kind::kInstruction && expression.opcode() == Opcode::kSelect;
    return is_select ? decision_(expression.argument(0)) : std::nullopt;
  }

  std::span<const Expr> inputs_, parameters_;
  Decision decision_;
  std::unordered_map<const void*, Expr> done_;
};

}  // namespace

Expr substitute(const Expr& expression, std::span<const Expr> inputs, std::span<const Expr> parameters) {
  const auto undecided = [](const Expr&) { return std::optional<bool>(); };
  return Substitution(inputs, parameters, undecided).of(expression);
}

Expr choose(const Expr& expression, FunctionRef<std::optional<bool>(const Expr& condition)> decision) {
  return Substitution({}, {}, decision).of(expression);
}

}  // namespace headrace
