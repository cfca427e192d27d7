// Gradients of higher order of an operator whose own gradient has none.
#pragma once

#include <span>
#include <vector>

#include "base/function_ref.h"
#include "op/gradient.h"

namespace headrace {

// Sets the gradients of the operator's inputs to those of `composition`, operators that give its first results from
// them. The thread records.
void set_composed_gradient(Gradient& g, FunctionRef<std::vector<NDArray>(std::span<const NDArray> inputs)> composition);

}  // namespace headrace
