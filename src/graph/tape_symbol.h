// The tape as a symbol. The thread that recorded.
#pragma once

#include "headrace/symbol.hpp"

namespace headrace {

// What was recorded to compute `head`. Arrays with attached gradients are variables var0, var1 ..., other arrays that
// were read null0, null1 ..., operations node_0, node_1 ...; compositions show the operators that they are made of.
// MXNetError: nothing was recorded, it is used up, or a part of it is no operator (a hybridized block, a Function).
Symbol symbol_of_tape(const NDArray& head);

}  // namespace headrace
