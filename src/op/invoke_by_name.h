// What calls by name are made of: attributes from options.
#pragma once

#include <span>

#include "headrace/invoke.hpp"
#include "op/op_def.h"

namespace headrace {

// Raises TypeError for an option that is unknown or missing. `input_count`: how many arrays a variadic operator gets.
AttrsPtr attrs_from(const OpDef& op, std::span<const Option> options, size_t input_count);

// Copies a result that is a view of an argument; its place on the tape stays.
void take_own_memory(NDArray& result, std::span<const NDArray> arguments);

}  // namespace headrace
