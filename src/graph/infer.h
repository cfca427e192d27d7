// Shapes and dtypes of a symbol's inputs and outputs, from those of some inputs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/symbol.hpp"
#include "op/node.h"

namespace headrace {

struct KnownTypes {
  std::map<std::string, Shape> shapes;  // an extent of -1 is unknown
  std::map<std::string, DType> dtypes;
  bool zeros_are_known = false;  // what variables declare of themselves: whether extents of 0 and shape () are known
};

struct InferredTypes {
  struct Type {
    std::optional<Shape> shape;  // an extent of -1 is unknown
    std::optional<DType> dtype;
    bool is_known() const noexcept;
    bool operator==(const Type&) const = default;
  };
  std::vector<Type> inputs;   // as inputs_of(heads).all
  std::vector<Type> outputs;  // as the heads
};

// Raises MXNetError where an operator refuses the types; what cannot be known stays unknown.
InferredTypes infer_types(const Symbol& symbol, const KnownTypes& known);

// Operators that make arrays may leave extents open (zeros of shape (0, 5)): they are what the users of the arrays
// need. Gives the attributes of such operators with the extents that follow from the values of variables.
using DeclaredShapes = std::unordered_map<const Node*, AttrsPtr>;
DeclaredShapes close_shapes(std::span<const NDArray> heads, const std::unordered_map<const Node*, NDArray>& variables);

}  // namespace headrace
