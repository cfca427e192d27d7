// Fusion with what stands around: a pointwise step whose result only a reduction reads computes the elements on their
// way into it, so that they are never stored; a pointwise step that alone reads the result of a reduction or a dense
// layer is done before it leaves the caches. What is no longer stored is rounded as if it were, so the bits stay.

#include <algorithm>

#include "graph/passes.h"
#include "graph/uses.h"
#include "op/fused.h"
#include "op/fusion.h"

namespace headrace {
namespace {

class PrologueFusion {
 public:
  PrologueFusion(Lowered& graph, std::span<const int> kept)
      : graph_(graph), uses_(graph, kept), is_gone_(graph.steps.size()) {}

  void run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (!is_gone_[s] && graph_.steps[s].op->fuse) fuse(s);
    std::vector<Step> steps;
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (!is_gone_[s]) steps.push_back(std::move(graph_.steps[s]));
    graph_.steps = std::move(steps);
  }

 private:
  const ViewPtr& type(int id) const { return graph_.values[static_cast<size_t>(id)].type; }

  static std::vector<double> parameters_of(const Step& step) {
    SmallVector<double, 8> values;
    append_parameters(*step.op->pointwise, *step.attrs, values);
    return {values.begin(), values.end()};
  }

  void fuse(size_t s) {
    const Step& step = graph_.steps[s];
    const int from = step.inputs[0], to = step.outputs[0];
    const size_t first = prologue_of(s), last = epilogue_of(s);
    Fusion fusion{type(from), type(to)->dtype(), {}, {}};
    if (first != Uses::kNone) fusion.prologue = prologue(graph_.steps[first]);
    std::vector<int> further;
    if (last != Uses::kNone) fusion.epilogue = epilogue(graph_.steps[last], to, further);
    if (fusion.prologue) {
      if (auto made = step.op->fuse(*step.attrs, fusion)) return replace(s, first, last, made, further);
      fusion.prologue.reset();
    }
    if (!fusion.epilogue) return;
    if (auto made = step.op->fuse(*step.attrs, fusion)) replace(s, Uses::kNone, last, made, further);
  }

  // The step that computes the elements, if nobody else reads them and what it reads is the same then.
  size_t prologue_of(size_t s) const {
    if (graph_.steps[s].inputs.size() != 1) return Uses::kNone;
    const int id = graph_.steps[s].inputs[0];
    const size_t p = uses_.producer(id);
    if (p == Uses::kNone || is_gone_[p] || uses_.only_reader(id) != s) return Uses::kNone;
    const Step& step = graph_.steps[p];
    if (!is_fusible(*step.op)) return Uses::kNone;
    if (step.op->pointwise->formula.outputs[0].kind() == Expr::Kind::kConstant) return Uses::kNone;
    // The elements of dense arrays of other shapes are not counted as the reduction counts them.
    const auto fits = [&](int input) {
      const View& view = *type(input);
      return (view.size() != type(id)->size() || view.shape() == type(id)->shape()) &&
             !uses_.changes_between(input, p, s);
    };
    return std::all_of(step.inputs.begin(), step.inputs.end(), fits) ? p : Uses::kNone;
  }

  // The step that reads the result and nothing that comes later or has another shape.
  size_t epilogue_of(size_t s) const {
    const int id = graph_.steps[s].outputs[0];
    const size_t t = uses_.only_reader(id);
    if (t == Uses::kNone || is_gone_[t] || !is_plain_pointwise(*graph_.steps[t].op)) return Uses::kNone;
    const Shape& shape = type(id)->shape();
    const auto is_packed = [&](int k) { return type(k)->shape() == shape && type(k)->is_contiguous(); };
    const Step& step = graph_.steps[t];
    const bool fits = std::all_of(step.inputs.begin(), step.inputs.end(), [&](int k) {
      if (k == id) return is_packed(k);
      const size_t p = uses_.producer(k);
      const bool is_there = p == Uses::kNone || p < s;
      return is_there && (is_packed(k) || type(k)->size() == 1) && !uses_.changes_between(k, s, t);
    });
    return fits && std::all_of(step.outputs.begin(), step.outputs.end(), is_packed) ? t : Uses::kNone;
  }

  Fusion::Prologue prologue(const Step& step) const {
    Fusion::Prologue made{step.op->pointwise->formula, parameters_of(step), static_cast<ComputeType>(step.ticket), {}};
    for (int id : step.inputs) made.inputs.push_back(type(id));
    return made;
  }

  Fusion::Epilogue epilogue(const Step& step, int result, std::vector<int>& further) const {
    Fusion::Epilogue made{step.op->pointwise, parameters_of(step), static_cast<ComputeType>(step.ticket), {}};
    for (int id : step.inputs) {
      if (id != result) further.push_back(id);
      made.inputs.push_back(id == result ? Fusion::Epilogue::kResult : static_cast<int>(further.size()) - 1);
    }
    return made;
  }

  // Puts `made` in the place of step `s` and of those around it.
  void replace(size_t s, size_t first, size_t last, std::shared_ptr<const OpDef> made,
               const std::vector<int>& further) {
    Step step{};
    step.op = made.get();
    step.own = std::move(made);
    step.attrs = graph_.steps[s].attrs;
    step.inputs = graph_.steps[first == Uses::kNone ? s : first].inputs;
    for (int id : further) step.inputs.push_back(id);
    step.outputs = graph_.steps[last == Uses::kNone ? s : last].outputs;
    for (size_t part : {first, s, last}) {
      if (part == Uses::kNone) continue;
      const Step& old = graph_.steps[part];
      step.cost_ns += old.cost_ns;
      step.flops += old.flops;
      step.fused.insert(step.fused.end(), old.fused.begin(), old.fused.end());
      if (old.fused.empty()) step.fused.push_back(old.op->name);
      is_gone_[part] = part != s;
    }
    graph_.steps[s] = std::move(step);
  }

  Lowered& graph_;
  const Uses uses_;
  std::vector<uint8_t> is_gone_;
};

}  // namespace

void fuse_prologues(Lowered& graph, std::span<const int> kept) { PrologueFusion(graph, kept).run(); }

}  // namespace headrace
