// What one operator of a graph says about shapes and dtypes, its inputs' and its results'.
#pragma once

#include <vector>

#include "graph/infer.h"
#include "op/node.h"

namespace headrace {

struct NodeTypes {
  std::vector<InferredTypes::Type> inputs, outputs;
  bool operator==(const NodeTypes&) const = default;
  bool is_known() const noexcept;
};

// Fills in what follows from what is known. Raises MXNetError where the operator refuses it. The thread must trace.
void infer_node(const Node& node, NodeTypes& types);
// Raises MXNetError unless a loop, branch or joined layer has the bodies that its operator needs, and they fit its
// inputs.
void check_bodies(const Node& node);
// The types of such a node, from its bodies.
void infer_from_bodies(const Node& node, NodeTypes& types);

// The shape that an operator without inputs gives its result, extents left open being -1; none for other operators.
// MXNet leaves extents open to say that they are what the users of the result need: 0 in the legacy front end, where no
// array is empty, and -1. A range with infer_range and without an end has an open extent.
std::optional<Shape> declared_shape(const Node& node);
// The node's attributes with another such shape.
AttrsPtr with_declared_shape(const Node& node, const Shape& shape);

}  // namespace headrace
