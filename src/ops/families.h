// Every family of operators: a function that gives its OpDefs, and its line in the list that fills the catalogue.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

using Family = std::vector<OpDef> (*)();

// index/
std::vector<OpDef> basic_index_operators();

inline constexpr Family kFamilies[] = {
    basic_index_operators,
};

}  // namespace headrace
