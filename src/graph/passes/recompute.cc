// Recomputation: memory for time. What backward reads of the forward half is kept from one to the other; a value that a
// pointwise step or a normalisation makes of others that are kept is made again instead, by the same code, so that it
// has the same bits.

#include <algorithm>
#include <unordered_map>

#include "graph/passes.h"
#include "op/pointwise.h"
#include "ops/normalization/batch_norm.h"

namespace headrace {
namespace {

constexpr size_t kLeastBytes = 4096;  // of a value for which it is worth it
constexpr size_t kMostSteps = 8;      // that make one value

class Recomputation {
 public:
  Recomputation(Lowered& whole, size_t output_count)
      : graph_(whole),
        producer_(whole.values.size(), kNone),
        is_forward_(forward_steps(whole, output_count)),
        is_changed_(whole.values.size()),
        readers_(whole.values.size()),
        before_(whole.steps.size()) {
    for (size_t s = 0; s < steps().size(); ++s) {
      for (int id : steps()[s].outputs) producer_[at(id)] = s;
      for (int root : graph_.changed_by(steps()[s])) is_changed_[at(root)] = true;
    }
    for (size_t s = 0; s < steps().size(); ++s)
      if (!is_forward_[s])
        for (int id : steps()[s].inputs) readers_[at(id)].push_back(s);
  }

  void run() {
    find_kept();
    const size_t count = steps().size();
    for (size_t s = 0; s < count; ++s)
      if (is_forward_[s] && !steps()[s].is_view)
        for (int id : steps()[s].outputs)
          if (is_worth_it(id) && is_cheap(id) && has_operands(id)) make_again(id);
    std::vector<Step> all;
    for (size_t s = 0; s < count; ++s) {
      for (Step& step : before_[s]) all.push_back(std::move(step));
      all.push_back(std::move(steps()[s]));
    }
    steps() = std::move(all);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  static size_t at(int id) { return static_cast<size_t>(id); }
  std::vector<Step>& steps() { return graph_.steps; }
  const Value& value(int id) const { return graph_.values[at(id)]; }

  // Values that backward reads, and those that are there after the run anyway.
  void find_kept() {
    is_kept_.assign(graph_.values.size(), false);
    is_fixed_ = is_kept_;
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& one = graph_.values[id];
      if (readers_[id].empty()) continue;
      is_kept_[at(one.root)] = true;
      if (one.root != static_cast<int>(id)) is_fixed_[at(one.root)] = true;  // it is looked at through a view
    }
    for (int id : graph_.outputs)
      if (id >= 0) is_kept_[at(value(id).root)] = is_fixed_[at(value(id).root)] = true;
  }

  bool is_worth_it(int id) const {
    return is_kept_[at(id)] && !is_fixed_[at(id)] && value(id).root == id && !is_changed_[at(id)] &&
           static_cast<size_t>(value(id).type->size()) * item_size(value(id).type->dtype()) >= kLeastBytes;
  }

  bool is_layer(const Step& step) const { return step.op == &training_ || step.op == &predicting_; }

  // Whether the value can be made again by a pass over memory.
  bool is_cheap(int id) const {
    const Step& step = graph_.steps[producer_[at(id)]];
    if (is_layer(step)) return id == step.outputs[0];
    return step.op->pointwise && step.op->pointwise->state_inputs.empty() && step.op->mutates == kNothing;
  }

  // Whether a few steps make the value of what is there.
  bool has_operands(int wanted) const {
    std::vector<int> made{wanted};
    for (size_t i = 0; i < made.size(); ++i) {
      const Step& step = graph_.steps[producer_[at(made[i])]];
      if (!is_layer(step)) {
        if (!std::ranges::all_of(step.inputs, [&](int id) { return is_there_or_cheap(id, made); })) return false;
      } else if (!is_kept_[at(step.outputs[1])] || !is_kept_[at(step.outputs[2])] ||
                 !is_there_or_cheap(step.inputs[0], made)) {
        return false;
      }
    }
    return made.size() <= kMostSteps;
  }

  bool is_there_or_cheap(int id, std::vector<int>& made) const {
    const int root = value(id).root;
    if (is_changed_[at(root)]) return false;
    if (producer_[at(root)] == kNone || is_kept_[at(root)]) return true;
    if (root != id || is_again_[at(id)] || !is_cheap(id) || made.size() > kMostSteps) return false;
    if (std::ranges::find(made, id) == made.end()) made.push_back(id);
    return true;
  }

  // Lets backward read a copy of the value that is made just before.
  void make_again(int id) {
    std::vector<size_t>& readers = readers_[at(id)];
    std::unordered_map<int, int> copies;
    const int copy = copy_of(id, before_[readers.front()], copies);
    for (size_t s : readers)
      for (int& input : steps()[s].inputs)
        if (input == id) input = copy;
    is_kept_[at(id)] = false;
    is_again_[at(id)] = true;
  }

  int copy_of(int id, std::vector<Step>& place, std::unordered_map<int, int>& copies) {
    if (const auto known = copies.find(id); known != copies.end()) return known->second;
    Step step = steps()[producer_[at(id)]];
    if (is_layer(step)) {
      step = again(step);
    } else {
      for (int& input : step.inputs)
        if (const size_t s = producer_[at(value(input).root)]; s != kNone && !is_kept_[at(value(input).root)])
          input = copy_of(input, place, copies);
    }
    const int copy = static_cast<int>(graph_.values.size());
    graph_.values.push_back({Value::Source::kStep, value(id).type, {}, copy});
    step.outputs = {copy};
    place.push_back(std::move(step));
    copies.emplace(id, copy);
    return copy;
  }

  Step again(const Step& layer) const {
    const auto& attrs = layer.attrs->as<BatchNormCore>();
    Step step = layer;
    step.op = &again_;
    step.attrs = make_attrs(BatchNormAgain{attrs.axis, attrs.fix_gamma, attrs.activation});
    step.inputs = {layer.inputs[0], layer.inputs[1], layer.inputs[2], layer.outputs[1], layer.outputs[2]};
    step.cost_ns /= 2;
    return step;
  }

  const OpDef &training_ = find_op("_batch_norm_train"), &predicting_ = find_op("_batch_norm_predict"),
              &again_ = find_op("_batch_norm_again");
  Lowered& graph_;
  std::vector<size_t> producer_;
  std::vector<uint8_t> is_forward_, is_changed_;
  std::vector<std::vector<size_t>> readers_;  // of each value the steps of backward, in order
  std::vector<std::vector<Step>> before_;     // what is put before each step
  std::vector<uint8_t> is_kept_;              // from forward to backward
  std::vector<uint8_t> is_fixed_;             // so that it stays
  std::vector<uint8_t> is_again_ = std::vector<uint8_t>(graph_.values.size());
};

}  // namespace

void recompute(Lowered& whole, size_t output_count) { Recomputation(whole, output_count).run(); }

}  // namespace headrace
