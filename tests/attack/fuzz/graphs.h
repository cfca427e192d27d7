// Using graphs that nobody vouches for.
#pragma once

#include "graph/infer.h"
#include "headrace/symbol.hpp"

namespace headrace::fuzz {

// Infers types, and runs the graph where all that it makes is small: compiled, operator by operator, and with
// gradients. Inputs whose types are not known are given none, so that graphs with such inputs only have their types
// inferred. Raises what the library raises.
void infer_and_run(const Symbol& symbol, const KnownTypes& known);

}  // namespace headrace::fuzz
