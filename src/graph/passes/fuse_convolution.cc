// Convolution fusion, for graphs without gradients: batch normalisation with moving statistics becomes a factor and a
// summand per channel, and these, the sum with a shortcut and relu are done while the convolution's results are in
// registers. Results differ from the separate steps by rounding.

#include <algorithm>

#include "graph/passes.h"
#include "graph/uses.h"
#include "op/pointwise.h"
#include "op/trace.h"
#include "ops/convolution/convolution.h"
#include "ops/normalization/batch_norm.h"

namespace headrace {
namespace {

bool is_same(const Expr& a, const Expr& b) {
  if (a.kind() != b.kind() || a.is_stop_gradient() != b.is_stop_gradient()) return false;
  if (a.kind() == Expr::Kind::kConstant) return a.value() == b.value();
  if (a.kind() != Expr::Kind::kInstruction) return a.index() == b.index();
  if (a.opcode() != b.opcode()) return false;
  for (int i = 0; i < a.arity(); ++i)
    if (!is_same(a.argument(i), b.argument(i))) return false;
  return true;
}

class ConvolutionFusion {
 public:
  explicit ConvolutionFusion(Lowered& graph)
      : graph_(graph), uses_(graph), replacements_(graph.steps.size()), is_gone_(graph.steps.size()) {}

  void run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (!is_gone_[s] && graph_.steps[s].op == &convolution_) extend(s);
    std::vector<Step> steps;
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      for (Step& step : replacements_[s]) steps.push_back(std::move(step));
      if (!is_gone_[s]) steps.push_back(std::move(graph_.steps[s]));
    }
    graph_.steps = std::move(steps);
  }

 private:
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }

  // The only step that reads the value; none when it is part of another already.
  size_t only_reader(int id) const {
    const size_t reader = uses_.only_reader(id);
    return reader != Uses::kNone && !is_gone_[reader] ? reader : Uses::kNone;
  }

  // Over the axis of channels.
  bool is_batch_norm(const Step& step, int of, int64_t channel_axis) const {
    if (step.op != &batch_norm_ || step.inputs[0] != of) return false;
    for (size_t k : {1, 2})
      if (uses_.is_read(step.outputs[k])) return false;
    const int64_t axis = step.attrs->as<BatchNormCore>().axis;
    const auto ndim = static_cast<int64_t>(type(of).shape().size());
    return (axis < 0 ? axis + ndim : axis) == channel_axis && type(step.inputs[1]).dtype() == DType::kFloat32;
  }

  static bool adds(const Step& step) { return computes(step, input(0) + input(1)); }
  bool is_relu(const Step& step) const { return computes(step, relu_.pointwise->formula.outputs[0]); }

  // Follows the convolution's result as far as each value has one reader.
  void extend(size_t s) {
    const Step convolution = graph_.steps[s];
    const DType dtype = type(convolution.outputs[0]).dtype();
    if (dtype == DType::kFloat64) return;  // factors and summands are float32
    int result = convolution.outputs[0];
    const auto last_axis = static_cast<int64_t>(type(result).shape().size()) - 1;
    const bool channels_last = is_channels_last(convolution.attrs->as<ConvolutionAttrs>().layout);
    const int64_t channel_axis = channels_last ? last_axis : 1;
    std::vector<size_t> taken{s};
    std::vector<NamedAttr> attrs;
    Step affine{}, fused{};
    fused.inputs = convolution.inputs;
    fused.cost_ns = convolution.cost_ns;
    fused.flops = convolution.flops;
    bool is_active = false;
    size_t next = only_reader(result);
    if (next != Uses::kNone && is_batch_norm(graph_.steps[next], result, channel_axis)) {
      const Step& norm = graph_.steps[next];
      affine = affine_step(norm);
      fused.inputs.push_back(affine.outputs[0]);
      fused.inputs.push_back(affine.outputs[1]);
      attrs.push_back({"with_scale", true});
      is_active = norm.attrs->as<BatchNormCore>().activation == "relu";
      result = take(next, taken);
      next = only_reader(result);
    }
    if (next != Uses::kNone && !is_active && adds(graph_.steps[next])) {
      const Step& sum = graph_.steps[next];
      const int other = sum.inputs[0] == result ? sum.inputs[1] : sum.inputs[0];
      if (other != result && type(other).shape() == type(result).shape() && type(other).dtype() == dtype) {
        fused.inputs.push_back(other);
        attrs.push_back({"with_sum", true});
        result = take(next, taken);
        next = only_reader(result);
      }
    }
    if (next != Uses::kNone && !is_active && is_relu(graph_.steps[next])) {
      is_active = true;
      result = take(next, taken);
    }
    if (taken.size() == 1) return;
    if (is_active) attrs.push_back({"activation", std::string("relu")});
    finish(convolution, std::move(affine), std::move(fused), attrs, result, taken);
  }

  int take(size_t step, std::vector<size_t>& taken) const {
    taken.push_back(step);
    return graph_.steps[step].outputs[0];
  }

  Step affine_step(const Step& norm) {
    static const OpDef& op = find_op("_batch_norm_affine");
    Step step{};
    step.op = &op;
    const auto& a = norm.attrs->as<BatchNormCore>();
    step.attrs = attrs_of(op, {{"eps", a.eps}, {"fix_gamma", a.fix_gamma}});
    for (size_t k = 1; k < 5; ++k) step.inputs.push_back(norm.inputs[k]);
    for (int k = 0; k < 2; ++k) {
      const int id = static_cast<int>(graph_.values.size());
      graph_.values.push_back({Value::Source::kStep, graph_.values[static_cast<size_t>(norm.inputs[1])].type, {}, id});
      step.outputs.push_back(id);
    }
    step.cost_ns = 50 + static_cast<double>(type(norm.inputs[1]).size());
    return step;
  }

  void finish(const Step& convolution, Step affine, Step fused, const std::vector<NamedAttr>& attrs, int result,
              const std::vector<size_t>& taken) {
    static const OpDef& op = find_op("_fused_convolution");
    IntrusivePtr<Attrs> made = op.make_attrs();
    for (const FieldInfo& field : convolution.op->schema->fields)
      op.schema->find(field.name)
          ->set(made->mutable_data(), field.get(convolution.attrs->data()), field, op.name.c_str());
    for (const NamedAttr& attr : attrs) {
      const FieldInfo& field = *op.schema->find(attr.name);
      field.set(made->mutable_data(), attr.value, field, op.name.c_str());
    }
    fused.op = &op;
    fused.attrs = AttrsPtr(made.get());
    fused.outputs.push_back(result);
    for (size_t s : taken) {
      fused.fused.push_back(graph_.steps[s].op->name);
      is_gone_[s] = true;
    }
    auto& place = replacements_[taken.back()];
    if (affine.op) place.push_back(std::move(affine));
    place.push_back(std::move(fused));
  }

  const OpDef &convolution_ = find_op("Convolution"), &batch_norm_ = find_op("_batch_norm_predict"),
              &relu_ = find_op("relu");
  Lowered& graph_;
  const Uses uses_;
  std::vector<std::vector<Step>> replacements_;  // what comes in the place of each step
  std::vector<uint8_t> is_gone_;
};

}  // namespace

bool computes(const Step& step, const Expr& formula) {
  const Pointwise* body = step.op->pointwise.get();
  return body && body->state_inputs.empty() && body->formula.outputs.size() == 1 &&
         is_same(body->formula.outputs[0], formula);
}

void fuse_convolutions(Lowered& graph) { ConvolutionFusion(graph).run(); }

}  // namespace headrace
