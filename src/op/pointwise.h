// Pointwise operators: one formula, from which everything follows: the kernel, the gradient (derived unless a better
// conditioned one is given), fusion. A new one is an entry of about five lines:
//
//   pointwise({.op = {.name = "sigmoid",
//                     .doc = "1 / (1 + exp(-x)), element by element.",
//                     .samples = {uniform({2, 3}), values({0, -kInf, kInf})}},
//              .formula = [](Expr x) { return 1 / (1 + exp(-x)); },
//              .gradient = [](Expr, Expr y, Expr dy) { return dy * y * (1 - y); }})
//
// The formula's arguments are the inputs, then the numeric (double) attributes in the order of the field list. The
// gradient's arguments are the inputs, the outputs, the gradient of each output, then the attributes; it gives one
// expression, or one per input.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "op/formula/choices.h"
#include "op/formula/expr.h"
#include "op/formula/program.h"
#include "op/formula/run.h"
#include "op/op_def.h"
#include "op/promote.h"

namespace headrace {

// A formula as a function of its arguments, made from any lambda over Expr that gives an Expr or a vector of them.
class FormulaFn {
 public:
  FormulaFn() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, FormulaFn>) FormulaFn(F f) : FormulaFn(std::move(f), &F::operator()) {}

  explicit operator bool() const noexcept { return static_cast<bool>(build_); }
  size_t arity() const noexcept { return arity_; }
  std::vector<Expr> operator()(std::span<const Expr> arguments) const { return build_(arguments); }

 private:
  template <class F, class R, class C, class... E>
  FormulaFn(F f, R (C::*)(E...) const) : arity_(sizeof...(E)) {
    build_ = [f = std::move(f)](std::span<const Expr> a) {
      return [&]<size_t... I>(std::index_sequence<I...>)->std::vector<Expr> {
        if constexpr (std::is_same_v<R, Expr>)
          return {f(a[I]...)};
        else
          return f(a[I]...);
      }
      (std::index_sequence_for<E...>{});
    };
  }
  size_t arity_ = 0;
  std::function<std::vector<Expr>(std::span<const Expr>)> build_;
};

// An operator and the formula that it is.
struct PointwiseSpec {
  OpDef op;
  FormulaFn formula = {};
  FormulaFn gradient = {};  // none: derived from the formula, unless op.zero_gradient
  bool differentiable = true;
  DTypeRule dtypes = dtype_rules::same;
  bool equal_shapes = false;  // inputs are not broadcast: their shapes must agree
  // Results after the first are written back into these inputs (optimizer states), and the first into input 0 when an
  // update asks for it.
  std::vector<uint32_t> state_inputs = {};
};

// One gradient of a pointwise operator, itself a pointwise operator over some of (inputs, outputs, heads).
struct PointwiseGradient {
  const OpDef* op = nullptr;      // null: zero, or `pass` says which source it equals
  std::vector<uint32_t> sources;  // what the gradient operator reads: inputs, then outputs, then heads
  int pass = -1;
};

struct Pointwise {
  // Tells it from all others that there were and will be in this process.
  const uint64_t serial = next_serial();
  Formula formula;
  DTypeRule dtypes;
  bool equal_shapes = false;
  std::vector<size_t> parameter_offsets;  // of the double fields in the attribute struct
  std::vector<uint32_t> state_inputs;
  std::vector<Expr> choices;  // conditions_on_parameters() of the formula
  FormulaFn gradient;

  // What it computes in and gives for inputs of these dtypes: `dtypes`, but negative parameters, which uint64 does not
  // have, are compared with as float64 and computed with as int64, which wraps alike.
  PointwiseTypes types(const char* operation, std::span<const DType> inputs, const Attrs& attrs) const;
  // The program for one compute type, compiled at first use. Any thread.
  const Program& program(ComputeType type) const {
    const Program* known = programs_[static_cast<size_t>(type)].load(std::memory_order_acquire);
    return known ? *known : compile(type);
  }
  // The same for these parameters: what they choose is not computed element by element.
  const Program& program(ComputeType type, std::span<const double> parameters) const {
    return choices.empty() ? program(type) : decided_program(type, decide(choices, parameters));
  }
  ~Pointwise();
  // Gradients of all inputs, derived at first use. Any thread.
  struct Gradients {
    std::vector<PointwiseGradient> of_input;
    uint32_t saves_inputs = 0, saves_outputs = 0;
  };
  const Gradients& gradients(const OpDef& op) const;

 private:
  static uint64_t next_serial() noexcept;  // from 1
  const Program& compile(ComputeType type) const;
  const Program& decided_program(ComputeType type, uint32_t decisions) const;

  mutable std::once_flag program_once_[kComputeTypeCount];
  mutable std::atomic<const Program*> programs_[kComputeTypeCount] = {};  // owned
  mutable std::mutex decided_mutex_;                                      // held while one is compiled
  mutable std::atomic<const Program*> decided_[kComputeTypeCount][1u << kMostChoices] = {};  // owned
  mutable std::once_flag gradients_once_;
  mutable Gradients gradients_;
};

OpDef make_pointwise(PointwiseSpec spec);
// Makes `op` the pointwise operator of `body`; names, documentation and attributes are the caller's.
void set_pointwise(OpDef& op, std::shared_ptr<const Pointwise> body);

template <class A = NoAttrs>
OpDef pointwise(PointwiseSpec spec) {
  set_attrs_type<A>(spec.op);
  return make_pointwise(std::move(spec));
}

// The type of the results of a pointwise operation. Raises what is wrong with the call.
struct PointwiseResult {
  Shape shape;
  Strides strides;
  PointwiseTypes types;
};
PointwiseResult pointwise_result(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs);

// Issues a pointwise operation (invoke() calls it) and runs it (tasks call it).
void invoke_pointwise(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                      std::span<NDArray> outputs);
void run_pointwise(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                   std::span<View* const> outputs);
// The strides of an array in the space to which it is broadcast, one for each dimension of the space.
void broadcast_strides(const Shape& shape, const Strides& own, const Shape& space, int64_t* strides);
// Whether all arrays are the same elements one after another: they are dense and equally large, or have one shape and
// are packed in one order of the axes.
bool is_flat(std::span<View* const> inputs, std::span<View* const> written);

// Applies one update operator to many parameters in a single task. Each call is (inputs, attributes) as for `op`; the
// first result of each goes into its first input.
struct UpdateCall {
  std::vector<NDArray> inputs;
  AttrsPtr attrs;
};
void update_many(const OpDef& op, std::span<const UpdateCall> calls);

// The same in two steps, for updates that come again with the same arrays and attributes. A plan is immutable and keeps
// its arrays alive.
class UpdatePlan;
using UpdatePlanPtr = std::shared_ptr<const UpdatePlan>;
// Checks the calls. Null: an array is sparse, and update_many() must do them.
UpdatePlanPtr plan_updates(const OpDef& op, std::span<const UpdateCall> calls);
void issue_updates(const UpdatePlanPtr& plan);

}  // namespace headrace
