// Loops and branches of graphs: operators whose bodies are graphs themselves.
#pragma once

#include <span>
#include <vector>

#include "op/node.h"

namespace headrace {

// Runs (or traces) a node with subgraphs on its inputs. A loop over an axis is unrolled; loops and branches that depend
// on values raise ValuesUnknown on abstract arrays.
std::vector<NDArray> run_control_flow(const Node& node, std::span<const NDArray> inputs);

}  // namespace headrace
