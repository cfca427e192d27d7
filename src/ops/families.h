// Every family of operators: a function that gives its OpDefs, and its line in the list that fills the catalogue.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

using Family = std::vector<OpDef> (*)();

// creation/
std::vector<OpDef> constant_operators();
std::vector<OpDef> range_operators();
// index/
std::vector<OpDef> basic_index_operators();
// pointwise/
std::vector<OpDef> activation_operators();
std::vector<OpDef> binary_operators();
std::vector<OpDef> cast_operators();
std::vector<OpDef> exponential_operators();
std::vector<OpDef> rounding_operators();
std::vector<OpDef> trigonometric_operators();

inline constexpr Family kFamilies[] = {
    constant_operators,
    range_operators,
    basic_index_operators,
    activation_operators,
    binary_operators,
    cast_operators,
    exponential_operators,
    rounding_operators,
    trigonometric_operators,
};

}  // namespace headrace
