// Layers with what follows them: what can be put together into one operator. Any thread that may read the graph.
#pragma once

#include <span>
#include <vector>

#include "base/function_ref.h"
#include "op/node.h"

namespace headrace {

// A convolution or a dense layer and what follows it, each the only reader of the one before.
struct LayerChain {
  Node* layer = nullptr;
  Node *norm = nullptr, *sum = nullptr, *activation = nullptr;  // in this order, where they are there
  size_t sum_input = 0;                                         // which input of the sum the chain is

  std::vector<Node*> nodes() const;
};

// Of each layer of the graph, in its order. A node is in one chain at most. `is_activation(layer, node)`: whether a
// node may end the chain of a layer.
std::vector<LayerChain> layer_chains(std::span<const NDArray> heads,
                                     FunctionRef<bool(const Node&, const Node&)> is_activation);

// Attribute of a node's operator.
AttrValue attr_of(const Node& node, const char* name);
// Whether it is a relu, under either of its names.
bool is_relu(const Node& node);

}  // namespace headrace
