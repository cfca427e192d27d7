#include "autograd/autograd.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <unordered_map>

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/thread_state.h"

namespace headrace {

bool Gradient::wants(size_t i) const noexcept { return wanted_[i]; }
const OpDef& Gradient::op() const noexcept { return *node_.op; }
const AttrsPtr& Gradient::attrs() const noexcept { return node_.attrs; }

void Gradient::set(size_t i, const OpDef& op, AttrsPtr attrs, std::span<const NDArray> inputs) {
  const size_t count = output_count(op, *attrs);
  const std::span<const NDArray> targets = targets_.subspan(i, count);
  std::vector<NDArray> results(targets.begin(), targets.end());
  invoke(op, attrs, inputs, results);
  std::ranges::move(results, results_.subspan(i).begin());
}

namespace autograd {
namespace {

// The mode of one backward walk.
auto walking(bool recording, bool training) {
  return [=](ThreadState& state) {
    state.recording = recording;
    state.training = training;
  };
}

const Storage* storage_of(const NDArray& array) {
  return array && array.storage_kind() == StorageKind::kDense ? array.view()->storage() : nullptr;
}

bool is_among(const Storage* storage, std::span<const NDArray> arrays) {
  return storage && std::ranges::find(arrays, storage, storage_of) != arrays.end();
}

// What the walk knows of one node.
struct Entry {
  NodePtr node;                     // kept: freeing the graph drops the links that hold it
  std::pmr::vector<NDArray> heads;  // gradient of each output, none while nothing arrived
  uint32_t uses = 0;                // edges that lead here from visited nodes and heads
  bool owned = false;               // heads[0] is a sum made here, so it may be added to in place
  bool useful = false;              // leads to a leaf that wants its gradient
  bool is_below_zero = false;       // what depends on it has a gradient, which is zero
};

class Walk {
 public:
  // `variables` empty: gradients go to the leaves' arrays.
  // `keep_links`: the gradients themselves become part of a graph. `is_last`: each step frees its node, so what fails
  // on the way leaves a graph that cannot be gone through again.
  Walk(std::span<const NDArray> heads, std::span<const NDArray> variables, bool keep_links, bool is_last)
      : keep_links_(keep_links), to_leaves_(variables.empty()), is_last_(is_last) {
    entries_.reserve(kLinear);
    for (const NDArray& head : heads) ++entry_of(head.node().get()).uses;
    collect();
    mark_useful(variables);
  }

  // What an operator gives whose gradient is zero takes any head gradient, as nothing reads it.
  void seed(std::span<const NDArray> heads, std::span<const NDArray> head_gradients) {
    head_gradients_ = head_gradients;
    for (size_t i = 0; i < heads.size(); ++i) {
      const NDArray& head = heads[i];
      if (const OpDef* op = head.node()->op; op && op->zero_gradient) {
        entry_of(head.node().get()).is_below_zero = true;
        continue;
      }
      bool given = i < head_gradients.size() && head_gradients[i];
      if (given)
        check(head_gradients[i].shape() == head.shape(), ErrorKind::kValue,
              "backward: the head gradient has shape {}, but the head has shape {}",
              to_string(head_gradients[i].shape()), to_string(head.shape()));
      add(entry_of(head.node().get()), head.output_index(), given ? head_gradients[i] : ones_like(head));
    }
  }

  void run() {
    for (Entry& entry : entries_) {
      if (!entry.useful) continue;
      if (entry.node->is_leaf) {
        finish_leaf(entry);
      } else {
        step(entry);
        if (is_last_) entry.node->free();
      }
    }
    if (is_last_) free_graph();
  }

  // None where nothing reached the variable.
  NDArray gradient_of(const NDArray& variable) {
    Entry& entry = entry_of(variable.node().get());
    return entry.heads.empty() ? NDArray() : entry.heads[0];
  }

  bool reaches_leaf() const { return reaches_leaf_; }

 private:
  // A variable that asks for no gradient is one only for the graph that it was recorded in.
  void free_graph() {
    for (Entry& entry : entries_)
      if (!entry.node->is_leaf || entry.node->request == GradReq::kNull) entry.node->free();
  }

  Entry& entry_of(Node* node) {
    if (index_.empty()) {
      for (Entry& entry : entries_)
        if (entry.node.get() == node) return entry;
    } else if (auto found = index_.find(node); found != index_.end()) {
      return entries_[found->second];
    }
    entries_.push_back({NodePtr(node), std::pmr::vector<NDArray>(&memory_)});
    if (!index_.empty())
      index_.emplace(node, entries_.size() - 1);
    else if (entries_.size() > kLinear)
      build_index();
    return entries_.back();
  }

  void build_index() {
    index_.clear();
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].node.get(), i);
  }

  // All nodes that the heads depend on, newest first: an input is always older than its user. What an earlier walk had
  // freed when the heads were recorded is a constant; what it has freed since then would give a part of the gradient.
  void collect() {
    uint64_t newest = 0;
    for (const Entry& head : entries_) newest = std::max(newest, head.node->sequence);
    for (size_t i = 0; i < entries_.size(); ++i) {
      const NodePtr node = entries_[i].node;
      for (const NDArray& input : node->inputs) {
        if (!input.node()) continue;
        check(input.node()->freed_at < newest || input.node()->is_leaf, ErrorKind::kRuntime, "{}", kNotInGraph);
        ++entry_of(input.node().get()).uses;
      }
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.node->sequence > b.node->sequence; });
    if (!index_.empty()) build_index();
  }

  void mark_useful(std::span<const NDArray> variables) {
    for (size_t i = entries_.size(); i-- > 0;) {
      Entry& entry = entries_[i];
      if (entry.node->is_leaf) {
        entry.useful = to_leaves_ ? entry.node->request != GradReq::kNull
                                  : std::any_of(variables.begin(), variables.end(),
                                                [&](const NDArray& v) { return v.node() == entry.node; });
        reaches_leaf_ |= entry.useful;
      } else {
        for (const NDArray& input : entry.node->inputs)
          if (input.node()) entry.useful |= entry_of(input.node().get()).useful;
      }
    }
  }

  void add(Entry& entry, uint32_t output, NDArray gradient) {
    if (entry.heads.size() <= output) entry.heads.resize(output + 1);
    NDArray& sum = entry.heads[output];
    if (!sum) {
      sum = std::move(gradient);
      return;
    }
    static const OpDef& plus = find_op("_grad_add");
    NDArray inputs[2] = {sum, gradient};
    NDArray result = entry.owned && output == 0 && !keep_links_ ? sum : NDArray();
    invoke(plus, plus.default_attrs, inputs, {&result, 1});
    if (output == 0) entry.owned = true;
    sum = std::move(result);
  }

  void finish_leaf(Entry& entry) {
    if (!to_leaves_) return;
    Node& leaf = *entry.node;
    leaf.is_fresh = true;
    const NDArray none;
    const NDArray& gradient = entry.heads.empty() ? none : entry.heads[0];
    if (leaf.request == GradReq::kAdd) {
      if (!gradient) return;
      static const OpDef& plus = find_op("_grad_add");
      NDArray inputs[2] = {leaf.gradient, cast_to(gradient, leaf.gradient.dtype())};
      NDArray result = leaf.gradient;
      invoke(plus, plus.default_attrs, inputs, {&result, 1});
    } else if (!gradient && leaf.gradient.storage_kind() != StorageKind::kDense) {
      copy_into(leaf.gradient, sparse::zeros(leaf.gradient.storage_kind(), leaf.gradient.shape(), leaf.gradient.dtype(),
                                             leaf.gradient.device()));
    } else if (!gradient) {
      copy_into(leaf.gradient, call("_broadcast_shape", {full({}, 0, leaf.gradient.dtype(), leaf.gradient.device())},
                                    {{"shape", leaf.gradient.shape()}}));
    } else if (gradient.view() != leaf.gradient.view()) {
      copy_into(leaf.gradient, gradient);
    }
  }

  // The leaf's own array, where this is the only gradient that will reach it, it is dense, and nothing of this walk
  // reads what it holds.
  NDArray target_for(const Node& leaf, const Entry& entry) const {
    bool direct = to_leaves_ && !keep_links_ && leaf.is_leaf && leaf.request == GradReq::kWrite && entry.uses == 1 &&
                  leaf.gradient.storage_kind() == StorageKind::kDense &&
                  is_dense(leaf.gradient.shape(), leaf.gradient.strides()) && leaf.gradient.view()->tape() == 0 &&
                  !is_among(storage_of(leaf.gradient), head_gradients_);
    return direct ? leaf.gradient.off_tape() : NDArray();
  }

  void step(Entry& entry) {
    Node& node = *entry.node;
    std::pmr::vector<NDArray> heads = std::move(entry.heads);
    heads.resize(std::max<size_t>(node.outputs.size(), std::max<size_t>(1, heads.size())));
    bool reached = std::any_of(heads.begin(), heads.end(), [](const NDArray& h) { return static_cast<bool>(h); });
    if (!reached) {
      if (!entry.is_below_zero) return;
      if (!starts_gradient(node)) return pass_zero_on(node);
      if (node.op) fill_with_zeros(node, heads);
    }
    const size_t count = node.inputs.size();
    results_.assign(count, NDArray());
    targets_.assign(count, NDArray());
    wanted_.assign(count, 0);
    for (size_t i = 0; i < count; ++i) {
      if (!node.inputs[i].node()) continue;
      const Entry& source = entry_of(node.inputs[i].node().get());
      wanted_[i] = source.useful;
      if (source.useful) targets_[i] = target_for(*source.node, source);
    }
    run_rule(node, heads);
    for (size_t i = 0; i < count; ++i) {
      if (!wanted_[i]) continue;
      Entry& source = entry_of(node.inputs[i].node().get());
      if (results_[i])
        add(source, node.inputs[i].output_index(), std::move(results_[i]));
      else
        source.is_below_zero = true;
    }
  }

  static bool starts_gradient(const Node& node) noexcept {
    return node.custom ? node.starts_gradient : node.op->starts_gradient;
  }

  // Zeros that nobody computes; below them only losses have gradients.
  void pass_zero_on(const Node& node) {
    for (const NDArray& input : node.inputs)
      if (input.node()) entry_of(input.node().get()).is_below_zero = true;
  }

  static void fill_with_zeros(const Node& node, std::span<NDArray> heads) {
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const View& type = *node.outputs[k];
      heads[k] = full(type.shape(), 0, type.dtype(), NDArray(node.outputs[k]).device());
    }
  }

  void run_rule(Node& node, std::span<const NDArray> heads) {
    if (!node.custom) {
      if (node.op->zero_gradient) return;
      check(static_cast<bool>(node.op->gradient), ErrorKind::kRuntime,
            "Operator {} is non-differentiable because it didn't register FGradient attribute: it has no gradient. Use "
            "detach() or stop_gradient on its result, or compute it outside of autograd.record()",
            node.op->name);
    }
    outputs_.reserve(node.outputs.size());
    inputs_.reserve(node.inputs.size());
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      NDArray output(node.outputs[k]);
      if (keep_links_) output.set_node(NodePtr(&node), static_cast<uint32_t>(k));
      outputs_.push_back(std::move(output));
    }
    for (const NDArray& input : node.inputs) inputs_.push_back(keep_links_ ? input : input.off_tape());
    Gradient gradient(node, inputs_, outputs_, heads, results_, targets_, wanted_, is_last_);
    if (node.custom)
      node.custom(gradient);
    else
      node.op->gradient(gradient, *node.attrs);
    for (std::pmr::vector<NDArray>* arrays : {&inputs_, &outputs_, &targets_}) arrays->clear();
  }

  static constexpr size_t kLinear = 24;  // up to here a search beats a table
  static constexpr const char* kNotInGraph =
      "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or "
      "use autograd.record() to save computational graphs for backward. If you want to differentiate the same graph "
      "twice, you need to pass retain_graph=True to backward.";
  friend void check_recorded(std::span<const NDArray> heads);

  // Of short walks all lists lie in the walk itself.
  alignas(std::max_align_t) std::array<std::byte, 3 * kLinear * sizeof(Entry) / 2> buffer_;
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
  std::pmr::vector<Entry> entries_{&memory_};
  std::unordered_map<Node*, size_t> index_;
  // Of the node whose rule runs; memory for all of them.
  std::pmr::vector<NDArray> inputs_{&memory_}, outputs_{&memory_}, results_{&memory_}, targets_{&memory_};
  std::pmr::vector<uint8_t> wanted_{&memory_};
  std::span<const NDArray> head_gradients_;  // those that were given
  bool keep_links_, to_leaves_, is_last_, reaches_leaf_ = false;
};

void check_head_gradients(std::span<const NDArray> heads, std::span<const NDArray> gradients, const char* operation) {
  check(gradients.empty() || gradients.size() == heads.size(), ErrorKind::kValue,
        "{}: {} heads but {} head gradients were given; give one for each, or none at all", operation, heads.size(),
        gradients.size());
}

void check_recorded(std::span<const NDArray> heads) {
  for (const NDArray& head : heads) check(head && place_on_tape(head), ErrorKind::kRuntime, "{}", Walk::kNotInGraph);
}

// What a program is given it may write to, and rules pass heads on as they are, as views and spread over a shape.
void separate(std::span<NDArray> gradients, std::span<const NDArray> variables, std::span<const NDArray> head_gradients,
              bool recorded) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Storage* const storage = storage_of(gradients[i]);
    const bool is_shared = is_among(storage, head_gradients) || is_among(storage, variables) ||
                           is_among(storage, gradients.first(i)) || (storage && repeats_elements(gradients[i]));
    if (is_shared) gradients[i] = recorded ? call("_copy", {gradients[i]}) : own_copy(gradients[i]);
  }
}

}  // namespace

void mark_variable(NDArray& array, const NDArray& gradient, GradReq request) {
  if (request != GradReq::kNull) {
    check(gradient.shape() == array.shape(), ErrorKind::kValue,
          "mark_variables: the gradient has shape {}, but the variable has shape {}", to_string(gradient.shape()),
          to_string(array.shape()));
    check(!needs_device_copy(gradient.device(), array.device()), ErrorKind::kValue,
          "mark_variables: the gradient is on {}, but the variable is on {}; make the gradient there, or move it with "
          "as_in_context",
          to_string(gradient.device()), to_string(array.device()));
  }
  NodePtr leaf(new Node);
  leaf->is_leaf = true;
  leaf->gradient = gradient.off_tape();
  leaf->request = request;
  array.set_node(std::move(leaf), 0);
}

void backward(std::span<const NDArray> heads, std::span<const NDArray> head_gradients, bool retain_graph,
              bool train_mode) {
  check(!heads.empty(), ErrorKind::kValue, "backward: no heads are given; give the arrays to differentiate");
  check_head_gradients(heads, head_gradients, "backward");
  check_recorded(heads);
  if (!retain_graph) begin_tape();  // what this one's gradients read may be written again
  const ThreadStateScope scope(walking(false, train_mode));
  Walk walk(heads, {}, false, !retain_graph);
  check(walk.reaches_leaf(), ErrorKind::kRuntime,
        "backward: there are no inputs in computation graph that require gradients; call attach_grad() on them before "
        "autograd.record()");
  walk.seed(heads, head_gradients);
  walk.run();
}

std::vector<NDArray> grad(std::span<const NDArray> heads, std::span<const NDArray> variables,
                          std::span<const NDArray> head_gradients, bool retain_graph, bool create_graph,
                          bool train_mode) {
  check_head_gradients(heads, head_gradients, "grad");
  check_recorded(heads);
  for (size_t i = 0; i < variables.size(); ++i) {
    const NodePtr& node = variables[i].node();
    check(
        node && node->is_leaf && node->request != GradReq::kNull, ErrorKind::kRuntime,
        "grad: variable {} of {} does not require gradient: it must be an array with attach_grad() and grad_req other "
        "than 'null'",
        i + 1, variables.size());
  }
  if (!retain_graph && !create_graph) begin_tape();
  const ThreadStateScope scope(walking(create_graph, train_mode));
  Walk walk(heads, variables, create_graph, !retain_graph && !create_graph);
  walk.seed(heads, head_gradients);
  walk.run();
  std::vector<NDArray> gradients;
  for (const NDArray& variable : variables) {
    gradients.push_back(walk.gradient_of(variable));
    NDArray& gradient = gradients.back();
    if (!gradient) gradient = zeros_like(variable);
    // What does not depend on the variable can be differentiated with respect to it as well.
    if (create_graph && !place_on_tape(gradient))
      record_node({&variable, 1}, {&gradient, 1}, [zeros = zeros_like(variable)](Gradient& g) { g.set(0, zeros); });
  }
  separate(gradients, variables, head_gradients, create_graph);
  return gradients;
}

std::vector<NDArray> trace_grad(std::span<const NDArray> heads, std::span<const NDArray> variables,
                                std::span<const NDArray> head_gradients) {
  Walk walk(heads, variables, true, false);
  walk.seed(heads, head_gradients);
  walk.run();
  std::vector<NDArray> gradients;
  for (const NDArray& variable : variables) gradients.push_back(walk.gradient_of(variable));
  return gradients;
}

namespace {

// Gradients that are recorded, but have none themselves.
void end_of_tape(const Gradient& g, std::span<const NDArray> heads, std::span<NDArray> gradients, const char* name) {
  std::vector<NDArray> read(heads.begin(), heads.end()), given;
  for (size_t i = 0; i < g.input_count(); ++i) read.push_back(g.input(i));
  for (const NDArray& gradient : gradients)
    if (gradient) given.push_back(gradient);
  record_node(read, given, [name](Gradient&) {
    fail(ErrorKind::kRuntime,
         "Operator _backward_{} is non-differentiable because it didn't register FGradient attribute: its gradient is "
         "code that is not recorded. Leave create_graph away",
         name);
  });
  auto next = given.begin();
  for (NDArray& gradient : gradients)
    if (gradient) gradient = *next++;
}

// The program's code may write to what it is given.
NDArray apart(const NDArray& head) { return storage_of(head) ? own_copy(head) : head; }

}  // namespace

void record_custom(std::span<const NDArray> inputs, std::span<NDArray> outputs, CustomStep step, const char* once) {
  std::vector<NDArray> types;
  std::vector<Device> devices;
  for (const NDArray& output : outputs) {
    types.push_back(abstract_of(output));
    devices.push_back(output.device());
  }
  record_node(inputs, outputs, [step = std::move(step), types = std::move(types), devices, once](Gradient& g) {
    std::vector<NDArray> heads;
    for (size_t k = 0; k < types.size(); ++k)
      heads.push_back(g.has_head(k) ? apart(g.head(k)) : full(types[k].shape(), 0, types[k].dtype(), devices[k]));
    std::vector<bool> wanted;
    for (size_t i = 0; i < g.input_count(); ++i) wanted.push_back(g.wants(i));
    std::vector<NDArray> gradients = step(heads, wanted);
    if (once) end_of_tape(g, heads, gradients, once);
    for (size_t i = 0; i < std::min(gradients.size(), g.input_count()); ++i) g.set(i, std::move(gradients[i]));
  });
  for (const NDArray& output : outputs)
    if (output.node()) output.node()->starts_gradient = true;  // what the program computes may be anything
}

void record_node(std::span<const NDArray> inputs, std::span<NDArray> outputs, Node::Custom step,
                 std::span<const ViewPtr> types) {
  if (!thread_state().recording) return;
  if (std::ranges::none_of(inputs, place_on_tape)) return;
  NodePtr node(new Node);
  node->custom = std::move(step);
  node->inputs.reserve(inputs.size());
  node->outputs.reserve(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    NDArray kept = types.empty() ? abstract_of(inputs[i]) : NDArray(types[i]);
    if (place_on_tape(inputs[i])) kept.set_node(inputs[i].node(), inputs[i].output_index());
    node->inputs.push_back(std::move(kept));
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    node->outputs.push_back(types.empty() ? abstract_of(outputs[k]).view() : types[inputs.size() + k]);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].set_node(node, static_cast<uint32_t>(i));
}

}  // namespace autograd
}  // namespace headrace
