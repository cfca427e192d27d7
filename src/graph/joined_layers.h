// Layers that MXNet puts together for oneDNN: nodes whose body is a layer and what follows it. Any thread that may read
// the graph.
#pragma once

#include <vector>

#include "headrace/symbol.hpp"
#include "op/node.h"

namespace headrace {

// What such a node computes, as a graph of its own.
struct OpenedLayer {
  std::vector<NDArray> variables;  // stand for the node's inputs
  std::vector<NDArray> results;
};

// On floats it is the body. A quantized layer is an operator on bytes where there is one, else the body between
// operators that take bytes to floats and back. MXNetError: inputs, body and attributes do not belong together.
OpenedLayer opened_layer(const Node& node);
// Raises that error.
void check_layer(const Node& node);

// The graph with its layers put together, as MXNet's partitioning for oneDNN does it: `for_bytes` what it can quantize
// so, then with_taken_ranges().
Symbol with_joined_layers(const Symbol& symbol, bool for_bytes);

// A quantized graph whose layers take over the ranges of the `requantize` behind them, or give floats where a
// `dequantize` is behind that; what is concatenated has one range.
Symbol with_taken_ranges(const Symbol& quantized);

}  // namespace headrace
