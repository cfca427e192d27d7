#include "op/formula/gradient.h"

#include <numbers>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/check.h"

namespace headrace {
namespace {

// Arithmetic that drops what a zero or one makes superfluous. Used only where a zero means "no contribution".
Expr plus(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return b;
  return b.is_constant(0) ? a : a + b;
}

Expr negated(const Expr& x) {
  if (x.kind() == Expr::Kind::kInstruction && x.opcode() == Opcode::kNeg) return x.argument(0);
  return -x;
}

Expr times(const Expr& a, const Expr& b) {
  if (a.is_constant(0) || b.is_constant(0)) return 0;
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (a.is_constant(-1)) return negated(b);
  return b.is_constant(-1) ? negated(a) : a * b;
}

Expr divided(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return 0;
  return b.is_constant(1) ? a : a / b;
}

// base ** exponent where small exponents need no pow.
Expr power(const Expr& base, const Expr& exponent) {
  if (exponent.is_constant(0)) return 1;
  if (exponent.is_constant(1)) return base;
  if (exponent.is_constant(2)) return square(base);
  if (exponent.is_constant(-1)) return 1 / base;
  return exponent.is_constant(0.5) ? sqrt(base) : pow(base, exponent);
}

class Differentiator {
 public:
  Differentiator(const Formula& formula, int input) : order_(topological_order(formula.outputs)) {
    for (const Expr& node : order_) {
      bool varies = node.kind() == Expr::Kind::kInput;
      bool leads = varies && node.index() == input;
      for (int i = 0; i < node.arity(); ++i) {
        varies |= varies_.contains(node.argument(i).node());
        leads |= leads_to_input_.contains(node.argument(i).node());
      }
      if (varies) varies_.insert(node.node());
      if (leads && !node.is_stop_gradient()) leads_to_input_.insert(node.node());
    }
  }

  Expr run(const Formula& formula, int input) {
    for (size_t o = 0; o < formula.outputs.size(); ++o) {
      accumulate(formula.outputs[o], headrace::input(formula.num_inputs + static_cast<int>(o)));
    }
    Expr result = 0;
    for (size_t i = order_.size(); i-- > 0;) {
      const Expr& node = order_[i];
      const auto place = adjoints_.find(node.node());
      if (place == adjoints_.end()) continue;
      const Expr adjoint = place->second;
      if (node.kind() == Expr::Kind::kInput && node.index() == input) result = plus(result, adjoint);
      if (node.kind() == Expr::Kind::kInstruction) propagate(node, adjoint);
    }
    return result;
  }

 private:
  bool leads_to_input(const Expr& x) const { return leads_to_input_.contains(x.node()); }
  bool is_uniform(const Expr& x) const { return !varies_.contains(x.node()); }

  void accumulate(const Expr& node, const Expr& adjoint) {
    if (!leads_to_input(node)) return;
    const auto [place, is_new] = adjoints_.emplace(node.node(), adjoint);
    if (!is_new) place->second = plus(place->second, adjoint);
  }

  void propagate(const Expr& y, const Expr& dy) {
    const Expr x = y.argument(0);
    if (y.arity() == 1) return accumulate(x, unary(y, x, dy));
    if (y.arity() == 2) return binary(y, x, y.argument(1), dy);
    accumulate(y.argument(1), select(x, dy, 0));
    accumulate(y.argument(2), select(x, 0, dy));
  }

  Expr unary(const Expr& y, const Expr& x, const Expr& dy) const {
    using enum Opcode;
    const Opcode op = y.opcode();
    if (op >= kFloor && op <= kIsFinite) return 0;
    if (op >= kToFloat16 && op <= kToFloat32) return dy;
    if (op >= kToInt8 && op <= kToBool) return 0;
    if (op >= kSin && op <= kAtanh) return circular(y, x, dy);
    if (op >= kErf && op <= kTrigamma) return special(y, x, dy);
    switch (op) {
      case kCopy:
        return dy;
      case kNeg:
        return negated(dy);
      case kAbs:
        return times(dy, sign(x));
      case kSqrt:
        return divided(times(dy, 0.5), y);
      case kRsqrt:
        return divided(times(times(dy, -0.5), y), x);
      case kCbrt:
        return divided(dy, times(3, square(y)));
      case kRcbrt:
        return divided(times(dy, y), times(-3, x));
      case kSquare:
        return times(dy, times(2, x));
      case kExp:
        return times(dy, y);
      case kExp2:
        return times(dy, times(std::numbers::ln2, y));
      case kExpm1:
        return times(dy, exp(x));
      case kLog:
        return divided(dy, x);
      case kLog2:
        return divided(dy, times(std::numbers::ln2, x));
      case kLog10:
        return divided(dy, times(std::numbers::ln10, x));
      case kLog1p:
        return divided(dy, 1 + x);
      default:
        return 0;  // sign
    }
  }

  static Expr circular(const Expr& y, const Expr& x, const Expr& dy) {
    using enum Opcode;
    switch (y.opcode()) {
      case kSin:
        return times(dy, cos(x));
      case kCos:
        return negated(times(dy, sin(x)));
      case kTan:
        return times(dy, 1 + square(y));
      case kAsin:
        return times(dy, rsqrt(1 - square(x)));
      case kAcos:
        return negated(times(dy, rsqrt(1 - square(x))));
      case kAtan:
        return divided(dy, 1 + square(x));
      case kSinh:
        return times(dy, cosh(x));
      case kCosh:
        return times(dy, sinh(x));
      case kTanh:
        return times(dy, 1 - square(y));
      case kAsinh:
        return times(dy, rsqrt(1 + square(x)));
      case kAcosh:
        return times(dy, rsqrt(square(x) - 1));
      default:
        return divided(dy, 1 - square(x));  // atanh
    }
  }

  static Expr special(const Expr& y, const Expr& x, const Expr& dy) {
    using enum Opcode;
    const double two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi;
    switch (y.opcode()) {
      case kErf:
        return times(dy, times(two_over_sqrt_pi, exp(negated(square(x)))));
      case kErfinv:
        return times(dy, times(1 / two_over_sqrt_pi, exp(square(y))));
      case kGamma:
        return times(dy, y * digamma(x));
      case kLgamma:
        return times(dy, digamma(x));
      case kDigamma:
        return times(dy, trigamma(x));
      default:
        fail(ErrorKind::kNotImplemented, "gradient: {} has no derivative here", info(y.opcode()).name);
    }
  }

  // What an argument of min or max takes: all where it wins.
  void extremum(const Expr& y, const Expr& a, const Expr& b, const Expr& dy) {
    const bool is_max = y.opcode() == Opcode::kMax;
    const auto not_worse = [&](const Expr& u, const Expr& v) { return is_max ? u >= v : u <= v; };
    const auto better = [&](const Expr& u, const Expr& v) { return is_max ? u > v : u < v; };
    if (leads_to_input(a)) accumulate(a, select(not_worse(a, b), dy, 0));
    if (leads_to_input(b)) accumulate(b, select(is_uniform(a) ? not_worse(b, a) : better(b, a), dy, 0));
  }

  void binary(const Expr& y, const Expr& a, const Expr& b, const Expr& dy) {
    using enum Opcode;
    const bool to_a = leads_to_input(a), to_b = leads_to_input(b);
    const auto give = [&](const Expr& da, const Expr& db) {
      if (to_a) accumulate(a, da);
      if (to_b) accumulate(b, db);
    };
    switch (y.opcode()) {
      case kAdd:
        return give(dy, dy);
      case kSub:
        return give(dy, to_b ? negated(dy) : dy);
      case kMul:
        return give(to_a ? times(dy, b) : dy, to_b ? times(dy, a) : dy);
      case kDiv:
        return give(to_a ? divided(dy, b) : dy, to_b ? negated(divided(times(dy, y), b)) : dy);
      case kMod:
        return give(dy, to_b ? negated(times(dy, floor(a / b))) : dy);
      case kFmod:
        return give(dy, to_b ? negated(times(dy, trunc(a / b))) : dy);
      case kPow:
        return give(to_a ? times(dy, times(b, power(a, b - 1))) : dy, to_b ? times(dy, y * log(a)) : dy);
      case kMin:
      case kMax:
        return extremum(y, a, b, dy);
      case kHypot:
        return give(to_a ? times(dy, a / y) : dy, to_b ? times(dy, b / y) : dy);
      case kAtan2: {
        const Expr scaled = divided(dy, square(a) + square(b));
        return give(times(scaled, b), negated(times(scaled, a)));
      }
      case kCopysign:
        return give(to_a ? times(dy, copysign(1, a) * copysign(1, b)) : dy, 0);
      case kLdexp:
        return give(to_a ? times(dy, exp2(b)) : dy, to_b ? times(dy, times(std::numbers::ln2, y)) : dy);
      default:
        return;  // comparisons, logic and bits
    }
  }

  std::vector<Expr> order_;
  std::unordered_set<const Expr::Node*> varies_, leads_to_input_;
  std::unordered_map<const Expr::Node*, Expr> adjoints_;
};

}  // namespace

Formula gradient(const Formula& formula, int input) {
  check(input >= 0 && input < formula.num_inputs, ErrorKind::kValue,
        "gradient: expected an input number in [0, {}), got {}", formula.num_inputs, input);
  Formula result;
  result.num_inputs = formula.num_inputs + static_cast<int>(formula.outputs.size());
  result.num_parameters = formula.num_parameters;
  result.outputs.push_back(Differentiator(formula, input).run(formula, input));
  return result;
}

}  // namespace headrace
