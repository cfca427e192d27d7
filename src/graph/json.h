// Symbol files: JSON as MXNet 1.9.1 writes it, byte for byte where that is deterministic; everything that it wrote is
// read, older spellings included.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

std::string write_graph(std::span<const NDArray> heads, int is_np_shape);

// Raises MXNetError saying what is wrong: malformed JSON, inputs that do not exist or come later, unknown operators
// (naming node and operator), attributes that the operator does not take.
std::vector<NDArray> read_graph(std::string_view text);

}  // namespace headrace
