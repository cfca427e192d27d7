// Walking graphs of Nodes. Any thread that may read the graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "op/invoke.h"

namespace headrace {

// All nodes that `heads` depend on, inputs before users, each once, in depth-first order from the heads.
std::vector<Node*> topological_order(std::span<const NDArray> heads);

// A node without operator that is named: an input of a symbol.
inline bool is_variable(const Node& node) noexcept { return !node.op && node.label; }

// Variables that `heads` depend on, in topological order. Auxiliary ones are those that an operator changes.
struct GraphInputs {
  std::vector<Node*> all;
  std::vector<bool> is_auxiliary;  // for each of `all`
};
GraphInputs inputs_of(std::span<const NDArray> heads);

// An output of a node in a graph without types.
NDArray output_of(Node* node, uint32_t index);
std::vector<NDArray> all_outputs(const NodePtr& node);
// Whether it changes input i in place, or a layer that was put together would: an auxiliary state.
bool mutates_input(const Node& node, size_t i);
// How many results a node has, and how many of them users see.
size_t output_count(const Node& node);
size_t visible_output_count(const Node& node);

// Whether a node that `heads` depend on, or one of a body of it, draws random numbers.
bool draws_numbers(std::span<const NDArray> heads);

}  // namespace headrace
