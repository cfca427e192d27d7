// Formulas: element-by-element mathematics as data. An Expr is a handle to an immutable node of a small acyclic graph;
// C++ operators and functions build it, so that `1 / (1 + exp(-x))` reads as it is meant. Handles count references
// and may be used and copied on any thread. Operations on constants alone are done at once, in double.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/ref_counted.h"
#include "headrace/dtype.hpp"
#include "op/formula/opcode.h"

namespace headrace {

class Expr {
 public:
  enum class Kind : uint8_t { kInput, kConstant, kParameter, kInstruction };
  struct Node : RefCounted<Node> {
    Kind kind = Kind::kConstant;
    Opcode opcode = Opcode::kCopy;
    uint8_t arity = 0;
    bool stop_gradient = false;
    int index = 0;
    double value = 0;
    std::array<IntrusivePtr<const Node>, 3> arguments;
  };

  Expr(double value);  // implicit: a constant

  Kind kind() const noexcept { return node_->kind; }
  double value() const noexcept { return node_->value; }    // of a constant
  int index() const noexcept { return node_->index; }       // of an input or parameter
  Opcode opcode() const noexcept { return node_->opcode; }  // of an instruction
  int arity() const noexcept { return node_->arity; }       // number of arguments; 0 unless an instruction
  Expr argument(int i) const { return Expr(node_->arguments[i].get()); }
  bool is_stop_gradient() const noexcept { return node_->stop_gradient; }  // a copy that passes no gradient on
  bool is_constant(double value) const noexcept { return kind() == Kind::kConstant && node_->value == value; }
  const Node* node() const noexcept { return node_.get(); }  // identity: equal for handles to one node

  // An instruction with as many arguments as it takes; those not needed are ignored.
  static Expr make(Opcode opcode, const Expr& a);
  static Expr make(Opcode opcode, const Expr& a, const Expr& b);
  static Expr make(Opcode opcode, const Expr& a, const Expr& b, const Expr& c);

  friend Expr input(int i);
  friend Expr parameter(int k);
  friend Expr stop_gradient(const Expr& x);
  friend Expr at_run_time(const Expr& x);

  friend Expr operator+(const Expr& a, const Expr& b) { return make(Opcode::kAdd, a, b); }
  friend Expr operator-(const Expr& a, const Expr& b) { return make(Opcode::kSub, a, b); }
  friend Expr operator*(const Expr& a, const Expr& b) { return make(Opcode::kMul, a, b); }
  friend Expr operator/(const Expr& a, const Expr& b) { return make(Opcode::kDiv, a, b); }
  friend Expr operator%(const Expr& a, const Expr& b) { return make(Opcode::kMod, a, b); }
  friend Expr operator-(const Expr& x) { return make(Opcode::kNeg, x); }
  friend Expr operator==(const Expr& a, const Expr& b) { return make(Opcode::kEq, a, b); }
  friend Expr operator!=(const Expr& a, const Expr& b) { return make(Opcode::kNe, a, b); }
  friend Expr operator<(const Expr& a, const Expr& b) { return make(Opcode::kLt, a, b); }
  friend Expr operator<=(const Expr& a, const Expr& b) { return make(Opcode::kLe, a, b); }
  friend Expr operator>(const Expr& a, const Expr& b) { return make(Opcode::kLt, b, a); }
  friend Expr operator>=(const Expr& a, const Expr& b) { return make(Opcode::kLe, b, a); }
  friend Expr operator!(const Expr& x) { return make(Opcode::kLogicalNot, x); }
  friend Expr operator&(const Expr& a, const Expr& b) { return make(Opcode::kBitAnd, a, b); }
  friend Expr operator|(const Expr& a, const Expr& b) { return make(Opcode::kBitOr, a, b); }
  friend Expr operator^(const Expr& a, const Expr& b) { return make(Opcode::kBitXor, a, b); }
  friend Expr operator~(const Expr& x) { return make(Opcode::kBitNot, x); }
  friend Expr operator<<(const Expr& a, const Expr& b) { return make(Opcode::kShiftLeft, a, b); }
  friend Expr operator>>(const Expr& a, const Expr& b) { return make(Opcode::kShiftRight, a, b); }

  // Hidden friends: found only when an argument is an Expr, so they never capture a call on plain numbers.
  friend Expr abs(const Expr& x) { return make(Opcode::kAbs, x); }
  friend Expr sign(const Expr& x) { return make(Opcode::kSign, x); }
  friend Expr sqrt(const Expr& x) { return make(Opcode::kSqrt, x); }
  friend Expr rsqrt(const Expr& x) { return make(Opcode::kRsqrt, x); }
  friend Expr cbrt(const Expr& x) { return make(Opcode::kCbrt, x); }
  friend Expr rcbrt(const Expr& x) { return make(Opcode::kRcbrt, x); }
  friend Expr square(const Expr& x) { return make(Opcode::kSquare, x); }
  friend Expr exp(const Expr& x) { return make(Opcode::kExp, x); }
  friend Expr exp2(const Expr& x) { return make(Opcode::kExp2, x); }
  friend Expr expm1(const Expr& x) { return make(Opcode::kExpm1, x); }
  friend Expr log(const Expr& x) { return make(Opcode::kLog, x); }
  friend Expr log2(const Expr& x) { return make(Opcode::kLog2, x); }
  friend Expr log10(const Expr& x) { return make(Opcode::kLog10, x); }
  friend Expr log1p(const Expr& x) { return make(Opcode::kLog1p, x); }
  friend Expr sin(const Expr& x) { return make(Opcode::kSin, x); }
  friend Expr cos(const Expr& x) { return make(Opcode::kCos, x); }
  friend Expr tan(const Expr& x) { return make(Opcode::kTan, x); }
  friend Expr asin(const Expr& x) { return make(Opcode::kAsin, x); }
  friend Expr acos(const Expr& x) { return make(Opcode::kAcos, x); }
  friend Expr atan(const Expr& x) { return make(Opcode::kAtan, x); }
  friend Expr sinh(const Expr& x) { return make(Opcode::kSinh, x); }
  friend Expr cosh(const Expr& x) { return make(Opcode::kCosh, x); }
  friend Expr tanh(const Expr& x) { return make(Opcode::kTanh, x); }
  friend Expr asinh(const Expr& x) { return make(Opcode::kAsinh, x); }
  friend Expr acosh(const Expr& x) { return make(Opcode::kAcosh, x); }
  friend Expr atanh(const Expr& x) { return make(Opcode::kAtanh, x); }
  friend Expr erf(const Expr& x) { return make(Opcode::kErf, x); }
  friend Expr erfinv(const Expr& x) { return make(Opcode::kErfinv, x); }
  friend Expr gamma(const Expr& x) { return make(Opcode::kGamma, x); }
  friend Expr lgamma(const Expr& x) { return make(Opcode::kLgamma, x); }
  friend Expr digamma(const Expr& x) { return make(Opcode::kDigamma, x); }
  friend Expr trigamma(const Expr& x) { return make(Opcode::kTrigamma, x); }
  friend Expr floor(const Expr& x) { return make(Opcode::kFloor, x); }
  friend Expr ceil(const Expr& x) { return make(Opcode::kCeil, x); }
  friend Expr trunc(const Expr& x) { return make(Opcode::kTrunc, x); }
  friend Expr round(const Expr& x) { return make(Opcode::kRound, x); }
  friend Expr rint(const Expr& x) { return make(Opcode::kRint, x); }
  friend Expr rint_down(const Expr& x) { return make(Opcode::kRintDown, x); }
  friend Expr isnan(const Expr& x) { return make(Opcode::kIsNan, x); }
  friend Expr isinf(const Expr& x) { return make(Opcode::kIsInf, x); }
  friend Expr isfinite(const Expr& x) { return make(Opcode::kIsFinite, x); }
  friend Expr logical_not(const Expr& x) { return make(Opcode::kLogicalNot, x); }
  friend Expr logical_and(const Expr& a, const Expr& b) { return make(Opcode::kLogicalAnd, a, b); }
  friend Expr logical_or(const Expr& a, const Expr& b) { return make(Opcode::kLogicalOr, a, b); }
  friend Expr logical_xor(const Expr& a, const Expr& b) { return make(Opcode::kLogicalXor, a, b); }
  friend Expr mod(const Expr& a, const Expr& b) { return make(Opcode::kMod, a, b); }
  friend Expr fmod(const Expr& a, const Expr& b) { return make(Opcode::kFmod, a, b); }
  friend Expr pow(const Expr& a, const Expr& b) { return make(Opcode::kPow, a, b); }
  friend Expr min(const Expr& a, const Expr& b) { return make(Opcode::kMin, a, b); }
  friend Expr max(const Expr& a, const Expr& b) { return make(Opcode::kMax, a, b); }
  friend Expr hypot(const Expr& a, const Expr& b) { return make(Opcode::kHypot, a, b); }
  friend Expr atan2(const Expr& y, const Expr& x) { return make(Opcode::kAtan2, y, x); }
  friend Expr copysign(const Expr& a, const Expr& b) { return make(Opcode::kCopysign, a, b); }
  friend Expr ldexp(const Expr& a, const Expr& b) { return make(Opcode::kLdexp, a, b); }
  friend Expr gcd(const Expr& a, const Expr& b) { return make(Opcode::kGcd, a, b); }
  friend Expr lcm(const Expr& a, const Expr& b) { return make(Opcode::kLcm, a, b); }
  friend Expr select(const Expr& condition, const Expr& a, const Expr& b) {
    return make(Opcode::kSelect, condition, a, b);
  }

 private:
  explicit Expr(const Node* node) : node_(node) {}
  static Expr copy_of(const Expr& x, bool stops_gradient);
  IntrusivePtr<const Node> node_;
};

Expr input(int i);      // the i-th array
Expr parameter(int k);  // the k-th scalar, known when the operation is called
inline Expr constant(double value) { return value; }
Expr stop_gradient(const Expr& x);
// x, computed when the program runs: what is done with a constant is then done in the program's compute type.
Expr at_run_time(const Expr& x);
// x as it would read after being stored as `dtype`. In a program of narrower compute type it changes nothing.
Expr round_to(const Expr& x, DType dtype);

// `expression` with inputs and parameters replaced by these expressions; those beyond the lists stay.
Expr substitute(const Expr& expression, std::span<const Expr> inputs, std::span<const Expr> parameters);

// `expression` with each select replaced by what it chooses, where `decision` says whether the condition holds.
Expr choose(const Expr& expression, FunctionRef<std::optional<bool>(const Expr& condition)> decision);

// Several outputs over common inputs: `inputs` and `parameters` count what the outputs may name.
struct Formula {
  int num_inputs = 0;
  int num_parameters = 0;
  std::vector<Expr> outputs;
};

// All nodes that the outputs need, arguments before users, each once.
std::vector<Expr> topological_order(const std::vector<Expr>& outputs);

}  // namespace headrace
