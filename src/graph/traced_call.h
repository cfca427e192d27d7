// A call of a symbol as a traced graph, with the gradients of its outputs.
#pragma once

#include <span>
#include <vector>

#include "headrace/symbol.hpp"

namespace headrace {

struct TracedCall {
  std::vector<NDArray> variables, outputs;
  std::vector<NDArray> heads;       // stand for the gradients of the outputs
  std::vector<NDArray> gradients;   // those that there are
  std::vector<size_t> gradient_of;  // which variable each belongs to
};

// For inputs of these types, in the order of list_inputs(). `wanted`: gradients of which inputs; empty: of none.
// `recorded`: they are made of operators that have gradients themselves. The thread must trace. Raises ValuesUnknown
// when the graph asks for values, and what the operators raise.
TracedCall trace_call_of(const Symbol& symbol, std::span<const NDArray> inputs, const std::vector<bool>& wanted,
                         bool recorded = false);

// The gradients of such a call, of each input (none where there is none), computed operator by operator in the
// thread's mode: recorded if it records. `training`: the mode of the call. RuntimeError: the call draws random numbers,
// which cannot be drawn again.
std::vector<NDArray> gradients_of_call(const Symbol& symbol, std::span<const NDArray> inputs,
                                       std::span<const NDArray> heads, const std::vector<bool>& wanted, bool training);

}  // namespace headrace
