// What makes a node of an operator: which numbers it takes, what its inputs and outputs are called and how many there
// are, as MXNet's programs and files have it. What follows from the definition of an operator is taken from there. Any
// thread that may read the graph.
#pragma once

#include <string>

#include "op/invoke.h"

namespace headrace {

// How many inputs a node has of which `given` are there; the others are to become variables. It depends on the texts
// of the node ("num_args") where the operator takes any number. MXNetError: too many are given, or none.
size_t wanted_inputs(const Node& node, size_t given);
// "weight", "arg1".
std::string input_name(const Node& node, size_t i);
// What a variable that is input `i` starts from, as text of an Initializer; empty where the operator does not say.
std::string initial_value(const Node& node, size_t i);

// "fc_output", "split_output1", "bn_mean", "data".
std::string output_name(const Node& node, uint32_t index);
// How many outputs MXNet's CPU build counts in node_row_ptr, which includes those that nobody sees.
size_t counted_outputs(const Node& node);

}  // namespace headrace
