// The operators on two arrays, by what they compute. Each exists in several registered forms: for nd arrays and np
// arrays, on two arrays or on an array and a number. Frontends look the forms up here.
#pragma once

#include <string_view>

#include "op/op_def.h"

namespace headrace {

// Null where that form does not exist. Scalar forms take one array and the attribute "scalar" (ScalarAttrs).
struct BinaryForms {
  const OpDef* nd = nullptr;         // a nd array with a nd array, broadcast
  const OpDef* nd_scalar = nullptr;  // a nd array with a number
  const OpDef* scalar_nd = nullptr;  // a number with a nd array
  const OpDef* np = nullptr;
  const OpDef* np_scalar = nullptr;
  const OpDef* scalar_np = nullptr;
};

// By np's name: "add", "subtract", "multiply", "divide", "mod", "power", "maximum", "minimum", "equal", "not_equal",
// "less", "less_equal", "greater", "greater_equal", "bitwise_and" ... Null for any other name. Any thread.
const BinaryForms* find_binary(std::string_view name);

}  // namespace headrace
