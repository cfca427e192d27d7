// Loops, branches and joined layers of graphs: operators whose bodies are graphs themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/symbol.hpp"
#include "op/node.h"

namespace headrace {

// Of what a foreach takes of data, which have one axis at least: without the first axis, and (1,) of one axis.
Shape entry_shape(const Shape& data);

// Runs (or traces) a node with subgraphs on its inputs. A loop over an axis is unrolled; loops and branches that depend
// on values raise ValuesUnknown on abstract arrays.
std::vector<NDArray> run_control_flow(const Node& node, std::span<const NDArray> inputs);

// A body cut out of the graph in which it was composed. Its own nodes carry `__subgraph_name__`; results of other nodes
// become variables of the body.
struct CutBody {
  std::vector<NDArray> heads;
  std::vector<std::pair<std::string, NDArray>> taken;  // the new variables' names, and what they stand for
};
CutBody cut_body(std::span<const NDArray> heads, const std::string& name);
// A node with subgraphs on `inputs`; all of its outputs.
Symbol control_flow_node(std::string_view op, const std::string& name, const std::vector<Symbol>& inputs,
                         const Symbol::Texts& attrs, const Symbol::Texts& node_attrs,
                         const std::vector<Symbol>& bodies);

}  // namespace headrace
