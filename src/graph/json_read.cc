#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "graph/joined_layers.h"
#include "graph/json.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/opened_call.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;                      // control flow inside control flow
constexpr size_t kMostOutputs = size_t{1} << 20;  // of all nodes of a file together

template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorKind::kRuntime, "symbol file: {}", fmt::format(text, std::forward<Args>(args)...));
}

const Json& member(const Json& object, const char* key, Json::value_t type, const char* where) {
  auto found = object.find(key);
  require(found != object.end(), "{} has no \"{}\"", where, key);
  require(found->type() == type, "\"{}\" of {} is {}, not {}", key, where, found->type_name(), Json(type).type_name());
  return *found;
}

// A value in an error message; lists and objects may be too deep to print.
std::string shown(const Json& value) {
  if (value.is_structured()) return value.type_name();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

size_t number(const Json& value, const char* what) {
  require(value.is_number_unsigned(), "{} must be a number that is not negative, got {}", what, shown(value));
  return value.get<size_t>();
}

// Texts under any of the spellings that versions of MXNet used.
Symbol::Texts texts_of(const Json& node, const std::string& name) {
  Symbol::Texts texts;
  for (const char* key : {"attrs", "attr", "param"}) {
    auto found = node.find(key);
    if (found == node.end()) continue;
    require(found->is_object(), "\"{}\" of node {} must be an object", key, name);
    for (const auto& [attr, value] : found->items()) {
      require(value.is_string(), "attribute {} of node {} must be a string", attr, name);
      texts.emplace(stored_key(attr), value.get<std::string>());
    }
  }
  return texts;
}

// The numbers of the nodes that a node reads; what else is wrong with it is said where it is read.
std::vector<size_t> inputs_of_node(const Json& node, size_t count) {
  std::vector<size_t> ids;
  const auto inputs = node.is_object() ? node.find("inputs") : node.end();
  if (inputs == node.end() || !inputs->is_array()) return ids;
  for (const Json& entry : *inputs)
    if (entry.is_array() && !entry.empty() && entry[0].is_number_unsigned() && entry[0].get<size_t>() < count)
      ids.push_back(entry[0].get<size_t>());
  return ids;
}

// The numbers of the nodes, those that a node reads before it; files list them in any order.
std::vector<size_t> inputs_first(const Json& nodes) {
  enum class State : uint8_t { kUnseen, kOpen, kDone };
  std::vector<State> states(nodes.size(), State::kUnseen);
  std::vector<size_t> order, stack;
  for (size_t first = 0; first < nodes.size(); ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const size_t id = stack.back();
      if (states[id] != State::kUnseen) {
        if (states[id] == State::kOpen) order.push_back(id);
        states[id] = State::kDone;
        stack.pop_back();
        continue;
      }
      states[id] = State::kOpen;
      for (const size_t input : inputs_of_node(nodes[id], nodes.size())) {
        require(states[input] != State::kOpen, "node {} depends on itself", input);
        if (states[input] == State::kUnseen) stack.push_back(input);
      }
    }
  }
  return order;
}

Json parsed(const std::string& text) {
  Json json;
  try {
    std::istringstream stream(text);
    stream >> json;  // and no further: what follows it is not looked at
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "symbol file: this is no JSON: {}", error.what());
  }
  require(json.is_object(), "a graph must be an object, got {}", json.type_name());
  return json;
}

// What became of a node of the file.
struct Made {
  NodePtr node;
  std::vector<NDArray> results;  // in place of those of `node`, where a call was opened
};

class GraphReader {
 public:
  GraphReader(int version, bool np_shapes) : version_(version), np_shapes_(np_shapes) {}

  std::vector<NDArray> read(const Json& graph, int depth) {
    require(depth < kDeepest, "graphs are nested more than {} deep", kDeepest);
    require(graph.is_object(), "a graph must be an object, got {}", graph.type_name());
    const Json& listed = member(graph, "nodes", Json::value_t::array, "the graph");
    std::vector<Made> nodes(listed.size());
    for (size_t id : inputs_first(listed)) {
      nodes[id] = read_node(listed[id], nodes, depth);
      outputs_ += output_count(*nodes[id].node);
      require(outputs_ <= kMostOutputs, "its nodes have more than {} outputs together", kMostOutputs);
    }
    for (const Json& id : member(graph, "arg_nodes", Json::value_t::array, "the graph"))
      require(number(id, "an entry of arg_nodes") < nodes.size(), "arg_nodes names node {}, but there are {}",
              shown(id), nodes.size());
    std::vector<NDArray> heads;
    for (const Json& head : member(graph, "heads", Json::value_t::array, "the graph"))
      heads.push_back(read_entry(head, nodes, "heads"));
    require(!heads.empty(), "\"heads\" of the graph names no output");
    return heads;
  }

 private:
  static NDArray read_entry(const Json& entry, const std::vector<Made>& nodes, const std::string& where) {
    require(entry.is_array() && entry.size() >= 2, "an entry of {} must be [node, output, version], got {}", where,
            shown(entry));
    const size_t id = number(entry[0], "a node"), index = number(entry[1], "an output");
    require(id < nodes.size(), "{} reads node {}, but there are {}", where, id, nodes.size());
    const auto& [node, results] = nodes[id];
    const bool is_opened = !results.empty();
    const size_t count = is_opened ? results.size() : output_count(*node);
    require(index < (is_opened ? count : std::max<size_t>(count, 3)), "{} reads output {} of node {}, which has {}",
            where, index, node->label->name, count);
    return is_opened ? results[index] : output_of(node.get(), static_cast<uint32_t>(index));
  }

  Made read_node(const Json& json, const std::vector<Made>& before, int depth) {
    require(json.is_object(), "a node must be an object, got {}", json.type_name());
    NodePtr node(new Node);
    node->label = std::make_unique<NodeLabel>();
    node->label->name = member(json, "name", Json::value_t::string, "a node").get<std::string>();
    const std::string& name = node->label->name;
    const std::string op = member(json, "op", Json::value_t::string, name.c_str()).get<std::string>();
    node->label->attrs = texts_of(json, name);
    if (auto found = json.find("subgraphs"); found != json.end()) {
      require(found->is_array(), "\"subgraphs\" of node {} must be a list", name);
      for (const Json& graph : *found) node->label->subgraphs.push_back(read(graph, depth + 1));
    }
    for (const Json& entry : member(json, "inputs", Json::value_t::array, name.c_str())) {
      node->inputs.push_back(read_entry(entry, before, name));
      node->label->versions.push_back(entry.size() > 2 && entry[2].is_number_unsigned() ? entry[2].get<uint32_t>() : 0);
    }
    if (op == "null") {
      require(node->inputs.empty(), "variable {} has inputs", name);
      return {node, {}};
    }
    if (is_call(op)) return {node, opened_call(body_of_call(*node, depth), name, node->inputs)};
    node->op = find_operator(op);
    require(node->op != nullptr, "node {} is of operator {}, which is not in the catalogue", name, op);
    finish(*node);
    return {node, {}};
  }

  // MXNet writes it as a text or, where it has divided a graph, as a graph.
  std::vector<NDArray> body_of_call(const Node& node, int depth) {
    const NodeLabel& label = *node.label;
    if (const auto text = label.attrs.find("subgraph"); text != label.attrs.end())
      return read(parsed(text->second), depth + 1);
    require(label.subgraphs.size() == 1, "node {} must have one graph, got {}", label.name, label.subgraphs.size());
    return label.subgraphs[0];
  }

  // Determinants of one matrix have no dimension where arrays may have none; MXNet has one operator for both.
  const OpDef* find_operator(const std::string& name) const {
    if (np_shapes_ && name == "_linalg_det") return catalogue().find("_npi_det");
    if (np_shapes_ && name == "_linalg_slogdet") return catalogue().find("_npi_slogdet");
    return catalogue().find(name);
  }

  // What older versions wrote differently, and the typed attributes.
  void finish(Node& node) const {
    Symbol::Texts& texts = node.label->attrs;
    move_input_attrs(node);
    if (version_ < 905 && (node.op->name == "argmax" || node.op->name == "argmin"))
      if (auto axis = texts.find("axis"); axis != texts.end() && axis->second == "-1") texts.erase(axis);
    try {
      node.attrs = parse_attrs(*node.op, texts);
    } catch (const Error& error) {
      fail(ErrorKind::kRuntime, "symbol file: node {}: {}", node.label->name, error.what());
    }
    if (node.op->control_flow == ControlFlow::kLayer) check_file_layer(node);
    const size_t most = node.op->variadic ? node.inputs.size() : node.op->inputs.size();
    require(node.inputs.size() <= most, "node {} of {} has {} inputs; at most {} are taken", node.label->name,
            node.op->name, node.inputs.size(), most);
    if (!node.op->variadic)
      for (size_t i = node.inputs.size(); i < input_count(*node.op, *node.attrs); ++i) {
        node.inputs.push_back(missing_input(node, i, {}));
        set_initial_value(node, i);
      }
  }

  static void check_file_layer(const Node& node) {
    try {
      check_layer(node);
    } catch (const Error& error) {
      fail(ErrorKind::kRuntime, "symbol file: {}", error.what());
    }
  }

  // "weight_lr_mult" of a layer belongs to the variable that is its weight.
  static void move_input_attrs(Node& node) {
    Symbol::Texts& texts = node.label->attrs;
    for (size_t i = 0; i < node.inputs.size() && i < node.op->inputs.size(); ++i) {
      const std::string prefix = node.op->inputs[i] + "_";
      for (auto it = texts.begin(); it != texts.end();) {
        const std::string rest = it->first.starts_with(prefix) ? it->first.substr(prefix.size()) : "";
        if (rest.empty() || stored_key(rest) == rest) {
          ++it;
          continue;
        }
        node.inputs[i].node()->label->attrs.emplace(stored_key(rest), it->second);
        it = texts.erase(it);
      }
    }
  }

  int version_;
  bool np_shapes_;
  size_t outputs_ = 0;  // of the nodes so far
};

// An integer among the attributes of a graph.
uint64_t graph_attr(const Json& graph, const char* name, uint64_t missing) {
  auto attrs = graph.find("attrs");
  if (attrs == graph.end() || !attrs->is_object()) return missing;
  auto pair = attrs->find(name);
  if (pair == attrs->end() || !pair->is_array() || pair->size() != 2 || !(*pair)[1].is_number_unsigned())
    return missing;
  return (*pair)[1].get<uint64_t>();
}

}  // namespace

std::vector<NDArray> read_graph(std::string_view text) {
  const Json json = parsed(std::string(text));
  const uint64_t version = std::min<uint64_t>(graph_attr(json, "mxnet_version", 800), 1000000);
  return GraphReader(static_cast<int>(version), graph_attr(json, "is_np_shape", 0) != 0).read(json, 0);
}

}  // namespace headrace
