// Batch normalisation and relu: the layer applies the relu that follows it, and its gradient the relu's, so that
// neither makes a pass over memory of its own.

#include <algorithm>
#include <unordered_map>

#include "graph/passes.h"
#include "graph/uses.h"
#include "op/pointwise.h"
#include "ops/normalization/batch_norm.h"

namespace headrace {
namespace {

class BatchNormFusion {
 public:
  explicit BatchNormFusion(Lowered& graph) : graph_(graph), uses_(graph), is_gone_(graph.steps.size()) {}

  void run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      if (step(s).op == &training_ || step(s).op == &predicting_) take_relu(s);
      if (step(s).op == &backward_) take_gradient_of_relu(s);
    }
    size_t s = 0;
    std::erase_if(graph_.steps, [&](const Step&) { return is_gone_[s++] != 0; });
  }

 private:
  Step& step(size_t s) { return graph_.steps[s]; }
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }
  bool are_alike(int a, int b) const {
    return type(a).shape() == type(b).shape() && type(a).dtype() == type(b).dtype() &&
           type(a).strides() == type(b).strides();
  }

  void take_relu(size_t s) {
    BatchNormCore attrs = step(s).attrs->as<BatchNormCore>();
    const int result = step(s).outputs[0];
    const size_t next = uses_.only_reader(result);
    if (!attrs.activation.empty() || next == Uses::kNone || !computes(step(next), relu_)) return;
    const int active = step(next).outputs[0];
    if (!are_alike(result, active)) return;
    attrs.activation = "relu";
    step(s).attrs = make_attrs(attrs);
    step(s).outputs[0] = active;
    is_gone_[next] = true;
    layers_.emplace(active, s);
  }

  // The relu's gradient reads the layer's result; what it is of that is what the layer's gradient finds out anew from
  // the layer's input. Not so of what programs see, who may have written into it.
  void take_gradient_of_relu(size_t s) {
    BatchNormBack attrs = step(s).attrs->as<BatchNormBack>();
    const int gradient = step(s).inputs[0];
    const size_t before = uses_.producer(gradient);
    if (!attrs.activation.empty() || before == Uses::kNone || uses_.only_reader(gradient) != s) return;
    if (!computes(step(before), gradient_of_relu_)) return;
    const int active = step(before).inputs[0];
    const auto layer = layers_.find(active);
    if (std::ranges::find(graph_.outputs, active) != graph_.outputs.end()) return;
    if (layer == layers_.end() || !is_gradient_of(step(s), step(layer->second))) return;
    const int head = step(before).inputs[1];
    if (!are_alike(head, gradient) || uses_.changes_between(head, before, s)) return;
    attrs.activation = "relu";
    step(s).attrs = make_attrs(attrs);
    step(s).inputs[0] = head;
    is_gone_[before] = true;
  }

  static bool is_gradient_of(const Step& gradient, const Step& layer) {
    return gradient.inputs[1] == layer.inputs[0] && gradient.inputs[2] == layer.inputs[1] &&
           gradient.inputs[3] == layer.inputs[2] && gradient.inputs[4] == layer.outputs[1] &&
           gradient.inputs[5] == layer.outputs[2];
  }

  const OpDef &training_ = find_op("_batch_norm_train"), &predicting_ = find_op("_batch_norm_predict"),
              &backward_ = find_op("_backward_BatchNorm"), &activation_ = find_op("relu");
  const Expr relu_ = activation_.pointwise->formula.outputs[0],
             gradient_of_relu_ =
                 activation_.pointwise->gradients(activation_).of_input[0].op->pointwise->formula.outputs[0];
  Lowered& graph_;
  const Uses uses_;                         // as they were before
  std::unordered_map<int, size_t> layers_;  // those that apply relu, by their results
  std::vector<uint8_t> is_gone_;
};

}  // namespace

void fuse_batch_norms(Lowered& graph) { BatchNormFusion(graph).run(); }

}  // namespace headrace
