#include <unordered_map>

#include "base/check.h"
#include "graph/json.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/signature.h"

namespace headrace {
namespace {

// A list of that many items or fewer is one line.
constexpr size_t kOneLine = 10;
constexpr int kMxnetVersion = 10901;

class Writer {
 public:
  std::string text;

  void line(size_t depth) {
    text += '\n';
    text.append(2 * depth, ' ');
  }
  void quoted(std::string_view value) {
    text += '"';
    for (char c : value) {
      switch (c) {
        case '\r':
          text += "\\r";
          break;
        case '\n':
          text += "\\n";
          break;
        case '\t':
          text += "\\t";
          break;
        case '\\':
          text += "\\\\";
          break;
        case '"':
          text += "\\\"";
          break;
        default:
          if (static_cast<unsigned char>(c) < 0x20)
            text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
          else
            text += c;
      }
    }
    text += '"';
  }
  void key(std::string_view name) {
    quoted(name);
    text += ": ";
  }
  // Items that are text already.
  void list(const std::vector<std::string>& items, size_t depth) {
    const bool one_line = items.size() <= kOneLine;
    text += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ", ";
      if (!one_line) line(depth + 1);
      text += items[i];
    }
    if (!one_line) line(depth);
    text += ']';
  }
  // Values are JSON already.
  void map(const std::map<std::string, std::string>& entries, size_t depth) {
    text += '{';
    bool first = true;
    for (const auto& [name, value] : entries) {
      if (!first) text += ", ";
      first = false;
      if (entries.size() > 1) line(depth + 1);
      key(name);
      text += value;
    }
    if (entries.size() > 1) line(depth);
    text += '}';
  }
};

std::string json_string(std::string_view value) {
  Writer writer;
  writer.quoted(value);
  return std::move(writer.text);
}

class GraphWriter {
 public:
  GraphWriter(Writer& out, std::span<const NDArray> heads, size_t depth)
      : out_(out), heads_(heads), depth_(depth), order_(topological_order(heads)) {
    for (size_t i = 0; i < order_.size(); ++i) index_.emplace(order_[i], i);
  }

  // All but the closing brace.
  void write() {
    std::vector<std::string> variables, row_pointers{"0"}, heads;
    size_t outputs = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (is_variable(*order_[i])) variables.push_back(std::to_string(i));
      outputs += counted_outputs(*order_[i]);
      row_pointers.push_back(std::to_string(outputs));
    }
    out_.text += '{';
    out_.line(depth_ + 1);
    out_.key("nodes");
    out_.text += '[';
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i > 0) out_.text += ", ";
      out_.line(depth_ + 2);
      write_node(*order_[i], depth_ + 2);
    }
    if (!order_.empty()) out_.line(depth_ + 1);
    out_.text += ']';
    for (const NDArray& head : heads_) heads.push_back(entry(head, 0));
    list("arg_nodes", variables);
    list("node_row_ptr", row_pointers);
    list("heads", heads);
  }

 private:
  void list(const char* name, const std::vector<std::string>& items) {
    next(depth_ + 1);
    out_.key(name);
    out_.list(items, depth_ + 1);
  }
  void next(size_t depth) {
    out_.text += ", ";
    out_.line(depth);
  }
  std::string entry(const NDArray& output, size_t version) const {
    check(
        static_cast<bool>(output.node()), ErrorKind::kRuntime,
        "to_json: the graph holds an array with values, which a symbol file cannot carry; make it a Constant parameter "
        "of the block");
    return fmt::format("[{}, {}, {}]", index_.at(output.node().get()), output.output_index(), version);
  }

  void write_node(const Node& node, size_t depth) {
    out_.text += '{';
    out_.line(depth + 1);
    out_.key("op");
    out_.quoted(node.op ? node.op->name : "null");
    next(depth + 1);
    out_.key("name");
    out_.quoted(node.label->name);
    if (!node.label->attrs.empty()) {
      std::map<std::string, std::string> attrs;
      for (const auto& [key, value] : node.label->attrs) attrs.emplace(key, json_string(value));
      next(depth + 1);
      out_.key("attrs");
      out_.map(attrs, depth + 1);
    }
    std::vector<std::string> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool mutated = mutates_input(node, i);
      size_t version = mutated ? ++versions_[node.inputs[i].node().get()] : 0;
      if (i < node.label->versions.size()) version = node.label->versions[i];
      inputs.push_back(entry(node.inputs[i], version));
    }
    next(depth + 1);
    out_.key("inputs");
    out_.list(inputs, depth + 1);
    if (!node.label->subgraphs.empty()) write_subgraphs(node, depth + 1);
    out_.line(depth);
    out_.text += '}';
  }

  void write_subgraphs(const Node& node, size_t depth) {
    next(depth);
    out_.key("subgraphs");
    out_.text += '[';
    for (size_t i = 0; i < node.label->subgraphs.size(); ++i) {
      if (i > 0) out_.text += ", ";
      out_.line(depth + 1);
      GraphWriter(out_, node.label->subgraphs[i], depth + 1).write();
      out_.line(depth + 1);
      out_.text += '}';
    }
    out_.line(depth);
    out_.text += ']';
  }

  Writer& out_;
  std::span<const NDArray> heads_;
  size_t depth_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, size_t> index_;
  std::unordered_map<const Node*, size_t> versions_;  // how often a variable was changed so far
};

}  // namespace

std::string write_graph(std::span<const NDArray> heads, int is_np_shape) {
  Writer out;
  GraphWriter(out, heads, 0).write();
  std::map<std::string, std::string> attrs{{"mxnet_version", fmt::format("[\"int\", {}]", kMxnetVersion)}};
  if (is_np_shape) attrs.emplace("is_np_shape", fmt::format("[\"int\", {}]", is_np_shape));
  out.text += ", ";
  out.line(1);
  out.key("attrs");
  out.map(attrs, 1);
  out.line(0);
  out.text += '}';
  return std::move(out.text);
}

}  // namespace headrace
