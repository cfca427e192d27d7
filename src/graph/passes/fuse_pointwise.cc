// Pointwise fusion: neighbouring pointwise steps over the same elements become one step with one formula, which reads
// and writes memory once. What is stored between the parts is rounded as if it had been stored, so the bits stay.

#include <algorithm>
#include <array>

#include "graph/passes.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

constexpr size_t kMostArrays = 12;      // inputs and outputs of one fused step
constexpr size_t kMostParameters = 24;  // scalars
constexpr size_t kMostMembers = 32;

struct FusedAttrs {
  std::array<double, kMostParameters> values{};
  static constexpr auto kFields = fields();
};

// A fused step under construction.
struct Group {
  std::vector<size_t> steps;
  std::vector<int> inputs, outputs;  // arrays that it reads and computes
  size_t parameters = 0;
};

class Fusion {
 public:
  Fusion(Lowered& graph, std::span<const int> kept)
      : graph_(graph),
        group_of_(graph.steps.size(), -1),
        readers_(graph.values.size()),
        producer_(graph.values.size(), -1),
        is_wanted_(graph.values.size()) {
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      for (int id : graph.steps[s].inputs) readers_[static_cast<size_t>(id)].push_back(s);
      for (int id : graph.steps[s].outputs) producer_[static_cast<size_t>(id)] = static_cast<int>(s);
      for (int root : graph.changed_by(graph.steps[s])) changes_.emplace_back(s, root);
    }
    for (int id : graph.outputs)
      if (id >= 0) is_wanted_[static_cast<size_t>(id)] = true;
    for (int id : kept) is_wanted_[static_cast<size_t>(id)] = true;
  }

  void run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (can_fuse(graph_.steps[s])) place(s);
    std::vector<Step> steps;
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      const int g = group_of_[s];
      if (g < 0 || groups_[static_cast<size_t>(g)].steps.size() == 1)
        steps.push_back(std::move(graph_.steps[s]));
      else if (groups_[static_cast<size_t>(g)].steps.back() == s)
        steps.push_back(merged(groups_[static_cast<size_t>(g)]));
    }
    graph_.steps = std::move(steps);
  }

 private:
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }

  static bool can_fuse(const Step& step) {
    return step.op->pointwise && step.op->pointwise->state_inputs.empty() && step.outputs.size() == 1 &&
           step.op->mutates == kNothing;
  }

  bool same_elements(const Step& a, const Step& b) const {
    const View &x = type(a.outputs[0]), &y = type(b.outputs[0]);
    return a.ticket == b.ticket && x.shape() == y.shape() && x.strides() == y.strides();
  }

  // Joins the newest group that feeds the step, or founds one.
  void place(size_t s) {
    const Step& step = graph_.steps[s];
    std::vector<int> candidates;
    for (int id : step.inputs)
      if (const int p = producer_[static_cast<size_t>(id)]; p >= 0 && group_of_[static_cast<size_t>(p)] >= 0)
        candidates.push_back(group_of_[static_cast<size_t>(p)]);
    std::sort(candidates.rbegin(), candidates.rend());
    for (int g : candidates)
      if (may_join(groups_[static_cast<size_t>(g)], s)) return join(g, s);
    groups_.emplace_back();
    join(static_cast<int>(groups_.size()) - 1, s);
  }

  // The group runs where its last member stands: whoever else reads its members must come later, and what it reads must
  // not change before.
  bool may_join(const Group& group, size_t s) const {
    const Step& step = graph_.steps[s];
    if (!same_elements(graph_.steps[group.steps[0]], step) || group.steps.size() >= kMostMembers) return false;
    if (group.parameters + step.op->pointwise->parameter_offsets.size() > kMostParameters) return false;
    for (int id : group.outputs)
      for (size_t reader : readers_[static_cast<size_t>(id)])
        if (reader < s && group_of_[reader] != group_of_[group.steps[0]]) return false;
    for (const auto& [changing, root] : changes_)
      if (changing > group.steps[0] && changing < s && reads_root(group, root)) return false;
    std::vector<int> inputs = group.inputs, written;
    add_inputs(inputs, group.outputs, step);
    for (int id : group.outputs)
      if (is_read_outside(id, group_of_[group.steps[0]], s)) written.push_back(id);
    return inputs.size() + written.size() + 1 <= kMostArrays;
  }

  bool reads_root(const Group& group, int root) const {
    return std::any_of(group.inputs.begin(), group.inputs.end(),
                       [&](int id) { return graph_.values[static_cast<size_t>(id)].root == root; });
  }

  static void add_inputs(std::vector<int>& inputs, const std::vector<int>& computed, const Step& step) {
    for (int id : step.inputs)
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end() &&
          std::find(computed.begin(), computed.end(), id) == computed.end())
        inputs.push_back(id);
  }

  bool is_read_outside(int id, int group, size_t joining = SIZE_MAX) const {
    if (is_wanted_[static_cast<size_t>(id)]) return true;
    return std::any_of(readers_[static_cast<size_t>(id)].begin(), readers_[static_cast<size_t>(id)].end(),
                       [&](size_t reader) { return reader != joining && group_of_[reader] != group; });
  }

  void join(int g, size_t s) {
    Group& group = groups_[static_cast<size_t>(g)];
    const Step& step = graph_.steps[s];
    add_inputs(group.inputs, group.outputs, step);
    group.outputs.push_back(step.outputs[0]);
    group.parameters += step.op->pointwise->parameter_offsets.size();
    group.steps.push_back(s);
    group_of_[s] = g;
  }

  Step merged(const Group& group) {
    const ComputeType compute = static_cast<ComputeType>(graph_.steps[group.steps[0]].ticket);
    FusedAttrs attrs;
    int parameters = 0;
    std::vector<std::pair<int, Expr>> known;  // value -> formula
    for (size_t i = 0; i < group.inputs.size(); ++i) known.emplace_back(group.inputs[i], input(static_cast<int>(i)));
    const auto formula_of = [&](int id) {
      return std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == id; })->second;
    };
    Step result{};
    auto body = std::make_shared<Pointwise>();
    body->formula.num_inputs = static_cast<int>(group.inputs.size());
    result.ticket = static_cast<uint64_t>(compute);
    for (size_t s : group.steps) {
      const Step& step = graph_.steps[s];
      std::vector<Expr> arguments, scalars;
      for (int id : step.inputs) arguments.push_back(formula_of(id));
      const char* base = static_cast<const char*>(step.attrs->data());
      for (size_t offset : step.op->pointwise->parameter_offsets) {
        scalars.push_back(parameter(parameters));
        attrs.values[static_cast<size_t>(parameters++)] = *reinterpret_cast<const double*>(base + offset);
      }
      const int id = step.outputs[0];
      const Expr value = substitute(step.op->pointwise->formula.outputs[0], arguments, scalars);
      if (is_read_outside(id, group_of_[s])) {
        body->formula.outputs.push_back(value);
        result.outputs.push_back(id);
      }
      known.emplace_back(id, round_to(value, type(id).dtype()));
      result.cost_ns = std::max(result.cost_ns, step.cost_ns);
      result.fused.push_back(step.op->name);
    }
    for (int k = 0; k < parameters; ++k) body->parameter_offsets.push_back(static_cast<size_t>(k) * sizeof(double));
    body->formula.num_parameters = parameters;
    body->dtypes = dtype_rules::like_first;
    auto op = std::make_shared<OpDef>();
    set_attrs_type<FusedAttrs>(*op);
    op->name = "_fused";
    op->inputs.assign(group.inputs.size(), "data");
    set_pointwise(*op, std::move(body));
    result.op = op.get();
    result.own = std::move(op);
    result.attrs = make_attrs(attrs);
    result.inputs.assign(group.inputs.begin(), group.inputs.end());
    return result;
  }

  Lowered& graph_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;                 // of each step; -1: none
  std::vector<std::vector<size_t>> readers_;  // of each value
  std::vector<int> producer_;
  std::vector<uint8_t> is_wanted_;
  std::vector<std::pair<size_t, int>> changes_;  // steps and the roots that they change
};

}  // namespace

void fuse(Lowered& graph, std::span<const int> kept) { Fusion(graph, kept).run(); }

}  // namespace headrace
