#include "graph/uses.h"

#include <algorithm>

namespace headrace {

Uses::Uses(const Lowered& graph, std::span<const int> kept)
    : graph_(graph),
      producer_(graph.values.size(), kNone),
      only_reader_(graph.values.size(), kNone),
      is_read_(graph.values.size()) {
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    for (int id : graph.steps[s].inputs) read(id, s);
    for (int id : graph.steps[s].outputs) producer_[static_cast<size_t>(id)] = s;
    for (int root : graph.changed_by(graph.steps[s])) changes_.emplace_back(s, root);
  }
  for (int id : graph.outputs)
    if (id >= 0) read(id, kNone);
  for (int id : kept) read(id, kNone);
}

void Uses::read(int id, size_t step) {
  size_t& reader = only_reader_[static_cast<size_t>(id)];
  const bool is_first = !std::exchange(is_read_[static_cast<size_t>(id)], true);
  if (is_first)
    reader = step;
  else if (reader != step)
    reader = kNone;
}

bool Uses::changes_between(int id, size_t first, size_t last) const {
  const int root = graph_.values[static_cast<size_t>(id)].root;
  return std::any_of(changes_.begin(), changes_.end(), [&](const auto& change) {
    return change.second == root && change.first > first && change.first < last;
  });
}

}  // namespace headrace
