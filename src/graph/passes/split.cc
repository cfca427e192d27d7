#include <algorithm>

#include "graph/passes.h"

namespace headrace {
namespace {

class Splitter {
 public:
  Splitter(const Lowered& whole, size_t input_count, size_t output_count)
      : whole_(whole),
        inputs_(whole.inputs.begin(), whole.inputs.begin() + static_cast<ptrdiff_t>(input_count)),
        heads_(whole.inputs.begin() + static_cast<ptrdiff_t>(input_count), whole.inputs.end()),
        outputs_(whole.outputs.begin(), whole.outputs.begin() + static_cast<ptrdiff_t>(output_count)),
        gradients_(whole.outputs.begin() + static_cast<ptrdiff_t>(output_count), whole.outputs.end()),
        producer_(whole.values.size(), -1) {
    for (size_t s = 0; s < whole.steps.size(); ++s)
      for (int id : whole.steps[s].outputs) producer_[static_cast<size_t>(id)] = static_cast<int>(s);
  }

  Halves run() {
    in_forward_ = forward_steps(whole_, outputs_.size());
    in_backward_.resize(whole_.steps.size());
    for (int id : gradients_)
      if (id >= 0) cross(id);

    Halves halves;
    Extract forward = extract(whole_, in_forward_, inputs_, outputs_);
    std::vector<int> backward_inputs = heads_;
    for (int id : crossing_) {
      if (auto at = std::find(inputs_.begin(), inputs_.end(), id); at != inputs_.end())
        halves.from_inputs.push_back(static_cast<size_t>(at - inputs_.begin()));
    }
    append(backward_inputs, [&](int id) { return contains(inputs_, id); });
    for (int id : crossing_)
      if (auto at = std::find(outputs_.begin(), outputs_.end(), id); at != outputs_.end())
        halves.from_outputs.push_back(static_cast<size_t>(at - outputs_.begin()));
    append(backward_inputs, [&](int id) { return contains(outputs_, id); });
    const auto is_kept = [&](int id) { return !contains(inputs_, id) && !contains(outputs_, id); };
    for (int id : crossing_)
      if (is_kept(id)) halves.kept.push_back(forward.new_id[static_cast<size_t>(id)]);
    append(backward_inputs, is_kept);
    halves.forward = std::move(forward.graph);
    halves.backward = extract(whole_, in_backward_, backward_inputs, gradients_).graph;
    return halves;
  }

 private:
  static bool contains(const std::vector<int>& list, int id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  }
  template <class F>
  void append(std::vector<int>& list, F accept) const {
    for (int id : crossing_)
      if (accept(id)) list.push_back(id);
  }

  // Walks back from a value of the backward half to where it meets the forward half. A view is looked at again there
  // instead of being handed over.
  void cross(int first) {
    std::vector<int> stack{first};
    while (!stack.empty()) {
      const int id = stack.back();
      stack.pop_back();
      const int s = producer_[static_cast<size_t>(id)];
      const bool is_input = s < 0;
      if (is_input || (in_forward_[static_cast<size_t>(s)] && !whole_.steps[static_cast<size_t>(s)].is_view)) {
        const bool is_given =
            contains(heads_, id) || whole_.values[static_cast<size_t>(id)].source == Value::Source::kConstant;
        if (!is_given && !contains(crossing_, id)) crossing_.push_back(id);
        continue;
      }
      if (std::exchange(in_backward_[static_cast<size_t>(s)], true)) continue;
      for (int input : whole_.steps[static_cast<size_t>(s)].inputs) stack.push_back(input);
    }
  }

  const Lowered& whole_;
  std::vector<int> inputs_, heads_, outputs_, gradients_;
  std::vector<int> producer_;
  std::vector<uint8_t> in_forward_, in_backward_;
  std::vector<int> crossing_;
};

}  // namespace

Extract extract(const Lowered& whole, const std::vector<uint8_t>& wanted_steps, std::span<const int> inputs,
                std::span<const int> outputs) {
  Extract part;
  part.new_id.assign(whole.values.size(), -1);
  Lowered& graph = part.graph;
  const auto add = [&](int id, Value::Source source) {
    int& known = part.new_id[static_cast<size_t>(id)];
    if (known >= 0) return known;
    known = static_cast<int>(graph.values.size());
    const Value& value = whole.values[static_cast<size_t>(id)];
    graph.values.push_back({source, value.type, value.constant, known});
    const bool is_view = source == Value::Source::kStep && value.root != id;
    if (is_view) graph.values.back().root = part.new_id[static_cast<size_t>(value.root)];
    return known;
  };
  for (int id : inputs) graph.inputs.push_back(add(id, Value::Source::kInput));
  for (size_t s = 0; s < whole.steps.size(); ++s) {
    if (!wanted_steps[s]) continue;
    Step step = whole.steps[s];
    for (int& id : step.inputs) id = add(id, whole.values[static_cast<size_t>(id)].source);
    for (int& id : step.outputs) id = add(id, Value::Source::kStep);
    graph.steps.push_back(std::move(step));
  }
  for (int id : outputs) graph.outputs.push_back(id < 0 ? -1 : add(id, whole.values[static_cast<size_t>(id)].source));
  return part;
}

std::vector<uint8_t> forward_steps(const Lowered& whole, size_t output_count) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> producer(whole.values.size(), kNone), needed;
  for (size_t s = 0; s < whole.steps.size(); ++s) {
    for (int id : whole.steps[s].outputs) producer[static_cast<size_t>(id)] = s;
    if (whole.steps[s].op->mutates != kNothing) needed.push_back(s);
  }
  const auto need = [&](int id) {
    if (const size_t s = producer[static_cast<size_t>(id)]; s != kNone) needed.push_back(s);
  };
  for (size_t k = 0; k < output_count; ++k) need(whole.outputs[k]);
  std::vector<uint8_t> is_forward(whole.steps.size());
  while (!needed.empty()) {
    const size_t s = needed.back();
    needed.pop_back();
    if (std::exchange(is_forward[s], true)) continue;
    for (int id : whole.steps[s].inputs) need(id);
  }
  return is_forward;
}

Halves split(const Lowered& whole, size_t input_count, size_t output_count) {
  return Splitter(whole, input_count, output_count).run();
}

}  // namespace headrace
