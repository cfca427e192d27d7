#include "graph/passes.h"

namespace headrace {

void drop_dead_code(Lowered& graph) {
  std::vector<uint8_t> needed(graph.values.size());
  for (int id : graph.outputs)
    if (id >= 0) needed[static_cast<size_t>(id)] = true;
  std::vector<Step> alive;
  for (size_t s = graph.steps.size(); s-- > 0;) {
    Step& step = graph.steps[s];
    bool is_needed = step.op->mutates != kNothing;
    for (int id : step.outputs) is_needed |= needed[static_cast<size_t>(id)];
    if (!is_needed) continue;
    for (int id : step.inputs) needed[static_cast<size_t>(id)] = true;
    alive.push_back(std::move(step));
  }
  graph.steps.assign(std::make_move_iterator(alive.rbegin()), std::make_move_iterator(alive.rend()));
}

void optimize(Lowered& graph) {
  drop_dead_code(graph);
  fold_constants(graph);
  merge_common_subexpressions(graph);
  look_through_joins(graph);
  drop_dead_code(graph);
}

}  // namespace headrace
