// Graphs made of the nodes of others. Any thread that may read the graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "headrace/symbol.hpp"
#include "op/invoke.h"

namespace headrace {

// The same operation on other inputs, with its name and texts.
NodePtr with_inputs(const Node& node, std::vector<NDArray> inputs);
// A node of the catalogue's operator `op`.
NodePtr named_node(std::string_view op, std::string name, std::vector<NDArray> inputs, Symbol::Texts texts = {});
// The graph of `heads` with nodes replaced. `replacement(node, inputs)` gives what stands for the outputs of a node
// with these inputs, and nothing to keep it; nodes that depend on a replaced one are copied. `renamed` is copied and
// called `name`; it may be null.
using Replacement = FunctionRef<std::vector<NDArray>(const Node&, std::span<const NDArray>)>;
std::vector<NDArray> rewired(std::span<const NDArray> heads, Replacement replacement, const Node* renamed = nullptr,
                             const std::string& name = {});

}  // namespace headrace
