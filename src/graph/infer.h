// Shapes and dtypes of a symbol's inputs and outputs, from those of some inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/symbol.hpp"

namespace headrace {

struct KnownTypes {
  std::map<std::string, Shape> shapes;  // an extent of -1 is unknown
  std::map<std::string, DType> dtypes;
};

struct InferredTypes {
  struct Type {
    std::optional<Shape> shape;  // an extent of -1 is unknown
    std::optional<DType> dtype;
    bool is_known() const noexcept;
  };
  std::vector<Type> inputs;   // as inputs_of(heads).all
  std::vector<Type> outputs;  // as the heads
};

// Raises MXNetError where an operator refuses the types; what cannot be known stays unknown.
InferredTypes infer_types(const Symbol& symbol, const KnownTypes& known);

}  // namespace headrace
