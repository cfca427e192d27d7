// Symbol: outputs of a graph of operators that has not been computed. Programs compose symbols, ask for what they need
// and give, save them as JSON (the format of MXNet 1.9.1) and run them with gluon::SymbolBlock.
//
// A handle; copies share the graph. Composing never changes a graph, except set_attr. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

// Shapes in the order of list_arguments(), of the outputs, and in that of list_auxiliary_states().
struct InferredShapes {
  std::vector<Shape> arguments, outputs, auxiliary_states;
};

class Symbol {
 public:
  using Texts = std::map<std::string, std::string>;

  Symbol() = default;
  // Outputs of nodes: arrays that have a place in a graph and no values.
  explicit Symbol(std::vector<NDArray> outputs) : outputs_(std::move(outputs)) {}

  // An input of the graph. `attrs`: texts such as "__shape__"; all optional.
  static Symbol variable(const std::string& name, Texts attrs = {});
  static Symbol group(const std::vector<Symbol>& parts);

  // The operator of this registered name on `inputs`. Those left out (an empty Symbol, or missing at the end) become
  // variables NAME_INPUT. `attrs` are texts as in symbol files; `node_attrs` further texts kept with the node.
  // KeyError: no such operator; RuntimeError: attributes or inputs that it does not take.
  static Symbol apply(std::string_view op, const std::string& name, const std::vector<Symbol>& inputs,
                      const Texts& attrs = {}, const Texts& node_attrs = {});

  explicit operator bool() const noexcept { return !outputs_.empty(); }
  size_t size() const noexcept { return outputs_.size(); }
  // One output. IndexError.
  Symbol operator[](size_t i) const;
  const std::vector<NDArray>& outputs() const noexcept { return outputs_; }

  // Name of the node, when all outputs belong to one; empty otherwise.
  std::string name() const;
  std::vector<std::string> list_arguments() const;
  std::vector<std::string> list_auxiliary_states() const;
  std::vector<std::string> list_inputs() const;  // both, in the order in which the graph reads them
  std::vector<std::string> list_outputs() const;
  // The shapes of all, from those of some inputs by name; none: they do not follow. MXNetError: an operator refuses
  // them. ValueError: there is no such input.
  std::optional<InferredShapes> infer_shape(const std::map<std::string, Shape>& known) const;
  // The outputs of all nodes; the inputs of this symbol's nodes.
  Symbol internals() const;
  Symbol children() const;

  // Texts of this symbol's node; attributes that MXNet hides answer to their bare name too ("lr_mult").
  std::optional<std::string> attr(const std::string& key) const;
  Texts attrs() const;
  std::map<std::string, Texts> attr_dict() const;
  void set_attr(const std::string& key, const std::string& value);

  // The same graph with variables replaced by symbols; the node of its first output is then called `name`, unless that
  // is empty. KeyError: no such variable. ValueError: a replacement has several outputs, or a variable would be
  // renamed.
  Symbol compose(const std::map<std::string, Symbol>& replacements, const std::string& name = {}) const;

  // The same graph without the casts of mixed precision (amp_cast, amp_multicast).
  Symbol without_amp_casts() const;
  // The same graph with one node for all that compute the same from the same values. Outputs stay apart: one that is
  // there already is copied by a node of its own, NAME_0_copy. Random operators, and those that change an input, stay.
  Symbol with_common_nodes_merged() const;

  // `is_np_shape`: what files say of unknown extents: 0 none, 1 or 2 np's.
  std::string to_json(int is_np_shape = 0) const;
  static Symbol from_json(std::string_view text);  // MXNetError: malformed, or an unknown operator
  // A file of it. MXNetError: it cannot be written.
  void save(const std::string& path) const;
  static Symbol load(const std::string& path);  // MXNetError: the file is missing, or as from_json

 private:
  std::vector<NDArray> outputs_;
};

}  // namespace headrace
