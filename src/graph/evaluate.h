// Evaluating a graph node by node through the operators' ordinary calls. On arrays with values it runs (and is recorded
// if the thread records); on abstract arrays it is traced, which gives every value a type.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "op/invoke.h"

namespace headrace {

using Bindings = std::unordered_map<const Node*, NDArray>;  // values of variables

// The values of `heads`. Raises MXNetError for a variable without a value, and what the operators raise.
std::vector<NDArray> evaluate(std::span<const NDArray> heads, const Bindings& variables);

}  // namespace headrace
