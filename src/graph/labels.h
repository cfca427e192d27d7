// The texts that nodes of a symbol carry: which belong to the operator, which to the node, and how MXNet spells them.
#pragma once

#include <string>

#include "headrace/symbol.hpp"
#include "op/invoke.h"

namespace headrace {

// A text of the node, not an attribute of its operator: "__shape__".
bool is_node_attr(const std::string& key) noexcept;
// How a key is kept: those that MXNet hides get underscores ("lr_mult" is "__lr_mult__").
std::string stored_key(const std::string& key);
// With hidden keys under both spellings, as attr_dict() shows them.
Symbol::Texts shown_attrs(const Symbol::Texts& stored);

// Typed attributes from texts; texts of the node are skipped. Raises MXNetError for names that the operator does not
// take or that are missing, TypeError and ValueError for values that do not fit.
AttrsPtr parse_attrs(const OpDef& op, const Symbol::Texts& texts);
// "kernel, stride, pad": what an operator takes.
std::string field_names(const OpDef& op);
// How many inputs an operator has with these attributes; those that it says to be optional come on top.
size_t input_count(const OpDef& op, const Attrs& attrs);
// The typed attributes of a node as texts: those that are required, and those that are not the defaults.
Symbol::Texts texts_of_attrs(const Node& node);
// Gives names and texts to the nodes of a traced graph, so that it is a symbol.
void label_nodes(std::span<const NDArray> heads);
// Makes a node with a label what symbols hold in its place (OpDef::spelling).
void spell(Node& node);
// An array without values that stands for an input of a graph while it is traced.
NDArray traced_variable(const std::string& name, const Shape& shape, DType dtype, const Symbol::Texts& attrs);
// The graph that computes these traced arrays. MXNetError: one of them does not depend on the graph's inputs.
Symbol symbol_of_trace(std::vector<NDArray> outputs);
// The variable, with these texts, that stands for input `i` that nobody gave.
NDArray missing_input(const Node& node, size_t i, const Symbol::Texts& texts);
// Writes down with the variable that is input `i`, if it is one, what it starts from, where the operator says so and
// nobody else did.
void set_initial_value(const Node& node, size_t i);

}  // namespace headrace
