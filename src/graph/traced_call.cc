#include "graph/traced_call.h"

#include "autograd/autograd.h"
#include "base/check.h"
#include "graph/evaluate.h"
#include "graph/nodes.h"
#include "op/pointwise.h"
#include "op/trace.h"

namespace headrace {
namespace {

// Of the array that a view becomes when it is an output.
Strides strides_of_copy(const NDArray& output) {
  static const OpDef& copy = find_op("_copy");
  return pointwise_result(copy, *copy.default_attrs, {&output, 1}).strides;
}

// `recorded`: the gradients will be operations of the tape, so they must have gradients themselves.
void trace_gradients(TracedCall& call, const std::vector<bool>& wanted, bool recorded) {
  std::vector<size_t> places;
  std::vector<NDArray> targets, reached, reached_heads;
  for (size_t i = 0; i < call.variables.size(); ++i) {
    if (!wanted[i]) continue;
    places.push_back(i);
    targets.push_back(call.variables[i]);
  }
  for (const NDArray& output : call.outputs) {
    call.heads.push_back(abstract_variable(output.shape(), output.dtype(), strides_of_copy(output)));
    if (!output.node()) continue;
    reached.push_back(output);
    reached_heads.push_back(call.heads.back());
  }
  if (reached.empty()) return;
  thread_state().recording = recorded;  // the scope of tracing restores it
  std::vector<NDArray> found = autograd::trace_grad(reached, targets, reached_heads);
  thread_state().recording = false;
  for (size_t k = 0; k < found.size(); ++k) {
    if (!found[k]) continue;
    call.gradients.push_back(std::move(found[k]));
    call.gradient_of.push_back(places[k]);
  }
}

}  // namespace

TracedCall trace_call_of(const Symbol& symbol, std::span<const NDArray> inputs, const std::vector<bool>& wanted,
                         bool recorded) {
  const std::vector<Node*> variables = inputs_of(symbol.outputs()).all;
  TracedCall call;
  Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.variables.push_back(abstract_variable(inputs[i].shape(), inputs[i].dtype(), inputs[i].strides()));
    bindings.emplace(variables[i], call.variables.back());
  }
  call.outputs = evaluate(symbol.outputs(), bindings);
  if (!wanted.empty()) trace_gradients(call, wanted, recorded);
  return call;
}

std::vector<NDArray> gradients_of_call(const Symbol& symbol, std::span<const NDArray> inputs,
                                       std::span<const NDArray> heads, const std::vector<bool>& wanted, bool training) {
  TracedCall traced;
  {
    TraceScope scope(training);
    if (!inputs.empty()) thread_state().device = inputs[0].device();  // the scope of tracing restores it
    traced = trace_call_of(symbol, inputs, wanted, true);
  }
  for (const Node* node : topological_order(traced.gradients))
    check(!node->op || !node->op->is_random, ErrorKind::kRuntime,
          "a hybridized block that draws random numbers ({}) does not support gradients of higher order: do not "
          "hybridize() it where it is differentiated with create_graph=True",
          node->op ? node->op->shown_name() : "");
  Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) bindings.emplace(traced.variables[i].node().get(), inputs[i]);
  for (size_t k = 0; k < heads.size(); ++k) bindings.emplace(traced.heads[k].node().get(), heads[k]);
  const ThreadStateScope scope([=](ThreadState& state) { state.training = training; });
  std::vector<NDArray> found = evaluate(traced.gradients, bindings), gradients(inputs.size());
  for (size_t k = 0; k < found.size(); ++k) gradients[traced.gradient_of[k]] = std::move(found[k]);
  return gradients;
}

}  // namespace headrace
