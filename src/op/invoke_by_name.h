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
// The same for what a composition makes: on the tape, as its last step. Arrays without values share none.
NDArray apart_from(const NDArray& result, const NDArray& argument);
// The values of a dense array in memory that no other array shows: copied now, or when one of the two is written. It
// has the array's place on the tape.
NDArray own_copy(const NDArray& array);
// Whether several elements lie in one place, as those of a broadcast view do.
bool repeats_elements(const NDArray& array);

}  // namespace headrace
