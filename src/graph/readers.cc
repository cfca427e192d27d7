#include "graph/readers.h"

#include "graph/nodes.h"

namespace headrace {

Readers::Readers(std::span<const NDArray> heads) {
  for (Node* node : topological_order(heads))
    for (const NDArray& input : node->inputs)
      if (input.node()) all_[input.node().get()].push_back({node, input.output_index()});
  for (const NDArray& head : heads) all_[head.node().get()].push_back({nullptr, head.output_index()});
}

std::span<const Reader> Readers::of(const Node* node) const {
  const auto found = all_.find(node);
  return found == all_.end() ? std::span<const Reader>() : found->second;
}

}  // namespace headrace
