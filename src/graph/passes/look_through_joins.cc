// Parts of joined arrays: who looks at one part of the result of Concat looks at the array that it was joined from, so
// that parameters that lie in one vector for the sake of an operator, and their gradients, are not copied there and
// back.

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "graph/passes.h"
#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {
namespace {

// Elements of a joined array that lie as they do in the array `id`.
struct Part {
  int id;
  int64_t begin, end;
};

class Joins {
 public:
  explicit Joins(Lowered& graph) : graph_(graph), is_changed_(graph.values.size()) {
    for (const Step& step : graph.steps)
      for (int root : graph.changed_by(step)) is_changed_[static_cast<size_t>(root)] = true;
  }

  void run() {
    for (Step& step : graph_.steps) {
      if (step.is_view) look_through(step);
      if (std::optional<std::vector<Part>> parts = parts_of(step)) joined_.emplace(step.outputs[0], *std::move(parts));
    }
    give_without_copy();
  }

 private:
  Value& value(int id) { return graph_.values[static_cast<size_t>(id)]; }
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }
  bool is_changed(int id) const {
    return is_changed_[static_cast<size_t>(graph_.values[static_cast<size_t>(id)].root)];
  }

  // Of a step that joins arrays along their first axis with an extent other than 1.
  std::optional<std::vector<Part>> parts_of(const Step& step) const {
    if ((step.op != &concat_ && step.op != &parameters_) || is_changed(step.outputs[0])) return std::nullopt;
    const Shape& shape = type(step.outputs[0]).shape();
    const int64_t dim = std::get<int64_t>(step.op->schema->find("dim")->get(step.attrs->data()));
    const auto axis = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
    if (std::accumulate(shape.begin(), shape.begin() + axis, int64_t{1}, std::multiplies()) != 1) return std::nullopt;
    std::vector<Part> parts;
    int64_t begin = type(step.outputs[0]).offset();
    for (int id : step.inputs) {
      const int64_t end = begin + type(id).size();
      if (is_contiguous(type(id).shape(), type(id).strides()) && type(id).dtype() == type(step.outputs[0]).dtype() &&
          !is_changed(id))
        parts.push_back({id, begin, end});
      begin = end;
    }
    return parts;
  }

  void look_through(Step& step) {
    const int id = step.outputs[0], from = step.inputs[0];
    if (const auto moved = moved_.find(from); moved != moved_.end()) return move(id, moved->second);
    const auto joined = joined_.find(from);
    if (joined == joined_.end() || !is_contiguous(type(id).shape(), type(id).strides())) return;
    const int64_t begin = type(id).offset(), end = begin + type(id).size();
    const auto part =
        std::ranges::find_if(joined->second, [&](const Part& one) { return one.begin == begin && one.end == end; });
    if (part == joined->second.end() || begin == end) return;
    step.op = &reshape_;
    step.attrs = attrs_of(reshape_, {{"shape", type(id).shape()}});
    step.inputs[0] = part->id;
    move(id, {value(part->id).root, type(part->id).offset() - begin});
  }

  // Where a view of a joined array lies instead: `shift` elements further, counted from the root's beginning.
  struct Move {
    int root;
    int64_t shift;
  };

  void move(int id, Move move) {
    Value& view = value(id);
    const View& old = *view.type;
    view.root = move.root;
    view.type = ViewPtr(new View(nullptr, old.dtype(), old.shape(), old.strides(), old.offset() + move.shift));
    moved_.emplace(id, move);
  }

  // Outputs that copy a whole result, as views of it have no memory of their own, are that result.
  void give_without_copy() {
    std::unordered_map<int, const Step*> producers;
    for (const Step& step : graph_.steps)
      for (int id : step.outputs) producers.emplace(id, &step);
    for (int& output : graph_.outputs) {
      const auto found = producers.find(output);
      if (found == producers.end() || found->second->op != &copy_ || !moved_.contains(found->second->inputs[0]))
        continue;
      const int source = found->second->inputs[0], root = value(source).root;
      if (value(root).source == Value::Source::kStep && !is_changed(root) && same_place(source, root) &&
          std::ranges::find(graph_.outputs, root) == graph_.outputs.end())
        output = root;
    }
  }

  bool same_place(int a, int b) const {
    const View &x = type(a), &y = type(b);
    return x.shape() == y.shape() && x.strides() == y.strides() && x.offset() == y.offset() && x.dtype() == y.dtype();
  }

  Lowered& graph_;
  std::vector<uint8_t> is_changed_;                    // roots that a step writes to
  std::unordered_map<int, std::vector<Part>> joined_;  // by the result
  std::unordered_map<int, Move> moved_;                // views
  const OpDef &concat_ = find_op("Concat"), &parameters_ = find_op("_rnn_param_concat"), &copy_ = find_op("_copy"),
              &reshape_ = find_op("_reshape_to");
};

}  // namespace

void look_through_joins(Lowered& graph) { Joins(graph).run(); }

}  // namespace headrace
