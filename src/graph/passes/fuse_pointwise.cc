// Pointwise fusion: neighbouring pointwise steps over the same elements become one step with one formula, which reads
// and writes memory once. What is stored between the parts is rounded as if it had been stored, so the bits stay. Views
// that give a dense array another shape are looked through.

#include <algorithm>
#include <numeric>

#include "graph/passes.h"
#include "op/fused.h"

namespace headrace {
namespace {

// A fused step under construction.
struct Group {
  std::vector<size_t> steps;         // ascending
  std::vector<int> inputs, outputs;  // arrays that it reads and computes
  size_t parameters = 0;
  bool is_uniform = true;  // all results lie as the first does, and are read as they are
  bool is_flat = true;     // all arrays are dense and have as many elements as the first result, whatever their shapes
  std::vector<size_t> views;  // of its results
};

class PointwiseFusion {
 public:
  PointwiseFusion(Lowered& graph, std::span<const int> kept)
      : graph_(graph),
        group_of_(graph.steps.size(), -1),
        base_(graph.values.size()),
        readers_(graph.values.size()),
        producer_(graph.values.size(), -1),
        is_wanted_(graph.values.size()) {
    std::iota(base_.begin(), base_.end(), 0);
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      const Step& step = graph.steps[s];
      for (int id : step.outputs) producer_[static_cast<size_t>(id)] = static_cast<int>(s);
      for (int root : graph.changed_by(step)) changes_.emplace_back(s, root);
      if (only_reshapes(step))
        base_[static_cast<size_t>(step.outputs[0])] = base(step.inputs[0]);
      else
        for (int id : step.inputs) readers_[static_cast<size_t>(base(id))].push_back(s);
    }
    for (int id : graph.outputs)
      if (id >= 0) is_wanted_[static_cast<size_t>(base(id))] = true;
    for (int id : kept) is_wanted_[static_cast<size_t>(base(id))] = true;
  }

  void run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (is_fusible(*graph_.steps[s].op)) place(s);
    for (size_t s = 0; s < graph_.steps.size(); ++s)
      if (Group* const group =
              only_reshapes(graph_.steps[s]) ? merged_group_of(producer_of(graph_.steps[s].inputs[0])) : nullptr)
        group->views.push_back(s);
    std::vector<Step> steps;
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      Step& step = graph_.steps[s];
      if (Group* const group = merged_group_of(static_cast<int>(s))) {
        if (group->steps.back() == s) add_merged(*group, steps);
      } else if (!only_reshapes(step) || !merged_group_of(producer_of(step.inputs[0]))) {
        steps.push_back(std::move(step));
      }
    }
    graph_.steps = std::move(steps);
  }

 private:
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }
  // The array whose elements a view has that only gives another shape; or the array itself.
  int base(int id) const { return base_[static_cast<size_t>(id)]; }
  // -1: no step.
  int producer_of(int id) const { return producer_[static_cast<size_t>(base(id))]; }
  // The group of a step that becomes one step with others; null: it stays as it is.
  Group* merged_group_of(int step) {
    const int g = step < 0 ? -1 : group_of_[static_cast<size_t>(step)];
    return g >= 0 && groups_[static_cast<size_t>(g)].steps.size() > 1 ? &groups_[static_cast<size_t>(g)] : nullptr;
  }

  bool is_like(int id, const View& dense) const { return type(id).is_contiguous() && type(id).size() == dense.size(); }
  bool only_reshapes(const Step& step) const {
    if (!step.is_view) return false;
    const View& to = type(step.outputs[0]);
    return to.is_contiguous() && is_like(step.inputs[0], to) && type(step.inputs[0]).dtype() == to.dtype();
  }

  // Whether two steps may be over the same elements.
  bool are_alike(const Step& a, const Step& b) const {
    return a.ticket == b.ticket && type(a.outputs[0]).size() == type(b.outputs[0]).size();
  }

  // The step joins what feeds it: all groups that can run where it stands, the newest first, become one with it.
  void place(size_t s) {
    std::vector<int> feeding;
    for (int id : graph_.steps[s].inputs)
      if (const int p = producer_of(id); p >= 0 && group_of_[static_cast<size_t>(p)] >= 0)
        feeding.push_back(group_of_[static_cast<size_t>(p)]);
    std::ranges::sort(feeding, std::greater());
    feeding.erase(std::ranges::unique(feeding).begin(), feeding.end());
    Group group;
    for (int g : feeding) {
      Group& one = groups_[static_cast<size_t>(g)];
      if (!are_alike(graph_.steps[one.steps[0]], graph_.steps[s])) continue;
      if (Group united = union_of(group, one); may_join(united, s)) {
        group = std::move(united);
        one = {};
      }
    }
    join(group, s);
    for (size_t member : group.steps) group_of_[member] = static_cast<int>(groups_.size());
    groups_.push_back(std::move(group));
  }

  // Both groups as one, its steps in their order.
  Group union_of(const Group& a, const Group& b) const {
    std::vector<size_t> steps;
    std::ranges::merge(a.steps, b.steps, std::back_inserter(steps));
    Group united;
    for (size_t s : steps) join(united, s);
    return united;
  }

  // The group runs where its last member stands: whoever else reads its members must come later, and what it reads must
  // not change before.
  bool may_join(const Group& group, size_t s) const {
    const Step& step = graph_.steps[s];
    if (group.steps.size() >= kMostFusedParts) return false;
    if (group.parameters + step.op->pointwise->parameter_offsets.size() > kMostFusedParameters) return false;
    for (int id : group.outputs)
      for (size_t reader : readers_[static_cast<size_t>(id)])
        if (reader < s && !std::ranges::binary_search(group.steps, reader)) return false;
    for (const auto& [changing, root] : changes_)
      if (changing > group.steps[0] && changing < s && reads_root(group, root)) return false;
    Group joined = group;
    join(joined, s);
    if (!joined.is_uniform && !joined.is_flat) return false;
    const auto written = std::ranges::count_if(joined.outputs, [&](int id) { return is_read_outside(id, joined); });
    return joined.inputs.size() + static_cast<size_t>(written) <= kMostFusedArrays;
  }

  bool reads_root(const Group& group, int root) const {
    return std::any_of(group.inputs.begin(), group.inputs.end(),
                       [&](int id) { return graph_.values[static_cast<size_t>(id)].root == root; });
  }

  bool computes(const Group& group, int id) const {
    return std::ranges::find(group.outputs, base(id)) != group.outputs.end();
  }

  bool is_read_outside(int id, const Group& group) const {
    if (is_wanted_[static_cast<size_t>(id)]) return true;
    return std::ranges::any_of(readers_[static_cast<size_t>(id)],
                               [&](size_t reader) { return !std::ranges::binary_search(group.steps, reader); });
  }

  // The step becomes the last of the group.
  void join(Group& group, size_t s) const {
    const Step& step = graph_.steps[s];
    const View& own = type(step.outputs[0]);
    const View& first = group.outputs.empty() ? own : type(group.outputs[0]);
    group.is_uniform = group.is_uniform && own.shape() == first.shape() && own.strides() == first.strides();
    group.is_flat = group.is_flat && is_like(step.outputs[0], first);
    for (int id : step.inputs) {
      const bool is_inner = computes(group, id);
      group.is_uniform = group.is_uniform && (!is_inner || base(id) == id);
      group.is_flat = group.is_flat && is_like(id, first);
      if (!is_inner && std::ranges::find(group.inputs, id) == group.inputs.end()) group.inputs.push_back(id);
    }
    group.outputs.push_back(step.outputs[0]);
    group.parameters += step.op->pointwise->parameter_offsets.size();
    group.steps.push_back(s);
  }

  // With the views of what others read.
  void add_merged(const Group& group, std::vector<Step>& steps) {
    steps.push_back(merged(group));
    for (size_t view : group.views)
      if (is_read_outside(base(graph_.steps[view].outputs[0]), group)) steps.push_back(std::move(graph_.steps[view]));
  }

  Step merged(const Group& group) {
    FusedBuilder builder;
    SmallVector<double, 8> parameters;
    std::vector<std::pair<int, int>> numbers;  // value -> number in the builder
    const auto number_of = [&](int id) {
      const int read = computes(group, id) ? base(id) : id;
      return std::ranges::find(numbers, read, &std::pair<int, int>::first)->second;
    };
    for (int id : group.inputs) numbers.emplace_back(id, builder.add_input());
    Step result{};
    result.ticket = graph_.steps[group.steps[0]].ticket;
    for (size_t s : group.steps) {
      const Step& step = graph_.steps[s];
      SmallVector<int, 6> arguments;
      for (int id : step.inputs) arguments.push_back(number_of(id));
      append_parameters(*step.op->pointwise, *step.attrs, parameters);
      const int id = step.outputs[0];
      numbers.emplace_back(id, builder.add(*step.op, {arguments.data(), arguments.size()}, type(id).dtype()));
      if (is_read_outside(id, group)) {
        builder.store(numbers.back().second);
        result.outputs.push_back(id);
      }
      result.cost_ns = std::max(result.cost_ns, step.cost_ns);
      result.fused.push_back(step.op->name);
    }
    result.own = builder.make();
    result.op = result.own.get();
    result.attrs = fused_attrs({parameters.data(), parameters.size()});
    result.inputs.assign(group.inputs.begin(), group.inputs.end());
    return result;
  }

  Lowered& graph_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;                 // of each step; -1: none
  std::vector<int> base_;                     // of each value
  std::vector<std::vector<size_t>> readers_;  // of each value that is its own base, by whatever shape
  std::vector<int> producer_;
  std::vector<uint8_t> is_wanted_;
  std::vector<std::pair<size_t, int>> changes_;  // steps and the roots that they change
};

}  // namespace

void fuse(Lowered& graph, std::span<const int> kept) { PointwiseFusion(graph, kept).run(); }

}  // namespace headrace
