// Graphs that MXNet puts into one node (`_CachedOp`); here they become part of the graph around them. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

// Whether an operator of this name holds a graph.
bool is_call(std::string_view op) noexcept;

// The results of `body` on `inputs`, which stand for its variables in the order in which it reads them. Its operators
// are called by `name` and theirs. MXNetError: it does not take as many.
std::vector<NDArray> opened_call(std::span<const NDArray> body, const std::string& name,
                                 std::span<const NDArray> inputs);

}  // namespace headrace
