#include "graph/quantize.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "base/log.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/readers.h"
#include "graph/rewire.h"
#include "graph/signature.h"
#include "op/quantization.h"

namespace headrace {
namespace {

const Quantization kNoQuantization;

const Quantization& quantization_of(const Node& node) {
  const Quantization* own = node.op ? node.op->quantization.get() : nullptr;
  return own ? *own : kNoQuantization;
}

Symbol symbol_of(const NDArray& entry) { return Symbol({entry}); }

// Bytes and the two ends of their range.
struct Ranged {
  NDArray data, low, high;
};

Ranged outputs_of(Node* node) { return {output_of(node, 0), output_of(node, 1), output_of(node, 2)}; }

NodePtr apply(const std::string& op, const std::string& name, std::span<const NDArray> inputs,
              const Symbol::Texts& texts = {}) {
  std::vector<Symbol> arguments;
  for (const NDArray& input : inputs) arguments.push_back(symbol_of(input));
  return Symbol::apply(op, name, arguments, texts).outputs()[0].node();
}

// Which nodes are quantized.
class Choice {
 public:
  Choice(std::span<Node* const> order, const Readers& readers, const QuantizeOptions& options) : options_(options) {
    for (Node* node : order)
      if (can(*node)) chosen_.insert(node);
    if (!options.smart) return;
    const auto inputs = [](const Node* node) {
      std::vector<const Node*> nodes;
      for (const NDArray& input : node->inputs) nodes.push_back(input.node().get());
      return nodes;
    };
    const auto before = reached(inputs);
    const auto behind = reached([&](const Node* node) {
      std::vector<const Node*> nodes;
      for (const Reader& reader : readers.of(node)) nodes.push_back(reader.node);
      return nodes;
    });
    std::erase_if(chosen_, [&](const Node* node) {
      return !quantization_of(*node).is_worthwhile && !(before.contains(node) && behind.contains(node));
    });
  }

  bool contains(const Node* node) const { return chosen_.contains(node); }

 private:
  bool can(const Node& node) const {
    const Quantization& q = quantization_of(node);
    return !q.becomes.empty() && (!q.where || q.where(*node.attrs)) && has_no_loop(node) &&
           !options_.excluded_nodes.contains(node.label->name) && !options_.excluded_operators.contains(node.op->name);
  }

  static bool has_no_loop(const Node& node) {
    return node.op->control_flow == ControlFlow::kNone || node.op->control_flow == ControlFlow::kLayer;
  }

  // What lies next to worthwhile nodes, step after step through nodes that can be quantized.
  template <class Next>
  std::unordered_set<const Node*> reached(Next next) {
    std::unordered_set<const Node*> found;
    std::vector<const Node*> stack;
    for (const Node* node : chosen_)
      if (quantization_of(*node).is_worthwhile) stack.push_back(node);
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Node* other : next(node))
        if (chosen_.contains(other) && !quantization_of(*other).is_worthwhile && found.insert(other).second)
          stack.push_back(other);
    }
    return found;
  }

  const QuantizeOptions& options_;
  std::unordered_set<const Node*> chosen_;
};

class Quantizer {
 public:
  Quantizer(const Symbol& symbol, const QuantizeOptions& options)
      : heads_(symbol.outputs()),
        order_(topological_order(heads_)),
        readers_(heads_),
        options_(options),
        choice_(order_, readers_, options) {}

  QuantizedSymbol run() {
    for (Node* node : order_) {
      if (choice_.contains(node))
        quantized_.emplace(node, quantized(*node));
      else
        floats_.emplace(node, on_floats(node));
    }
    std::vector<NDArray> outputs;
    for (const NDArray& head : heads_) outputs.push_back(as_floats(head));
    QuantizedSymbol result{Symbol(std::move(outputs)), {}};
    for (const Node* node : topological_order(result.symbol.outputs()))
      if (auto found = calibrated_.find(node); found != calibrated_.end()) result.calibrated.push_back(found->second);
    return result;
  }

 private:
  using Entry = std::pair<const Node*, int64_t>;

  bool gives_bytes(const Node* node) const {
    const auto found = quantized_.find(node);
    return found != quantized_.end() && output_count(*found->second) == 3 && !quantization_of(*node).has_float_results;
  }

  NodePtr on_floats(Node* node) {
    std::vector<NDArray> inputs;
    bool is_changed = false;
    for (const NDArray& input : node->inputs) {
      inputs.push_back(as_floats(input));
      is_changed |= inputs.back().node() != input.node();
    }
    return is_changed ? with_inputs(*node, std::move(inputs)) : NodePtr(node);
  }

  NDArray as_floats(const NDArray& entry) {
    const Node* source = entry.node().get();
    if (!source) return entry;
    if (!gives_bytes(source)) {
      const auto found = quantized_.find(source);
      return output_of((found == quantized_.end() ? floats_.at(source) : found->second).get(), entry.output_index());
    }
    auto [place, is_new] = floats_.try_emplace(source);
    if (is_new) {
      const Ranged bytes = outputs_of(quantized_.at(source).get());
      const NDArray inputs[] = {bytes.data, bytes.low, bytes.high};
      place->second = apply("_contrib_dequantize", source->label->name + "_dequantize", inputs);
    }
    return output_of(place->second.get(), 0);
  }

  Ranged as_bytes(const NDArray& entry, bool shifts, bool is_rowwise) {
    const Node* source = entry.node().get();
    if (gives_bytes(source)) return outputs_of(quantized_.at(source).get());
    const Entry key{source, 2 * static_cast<int64_t>(entry.output_index()) + shifts};
    if (auto found = bytes_.find(key); found != bytes_.end()) return found->second;
    const std::string name = output_name(*source, entry.output_index()) + "_quantize";
    if (!shifts && is_parameter(*source)) return bytes_.emplace(key, parameter(name, is_rowwise)).first->second;
    const NDArray inputs[] = {as_floats(entry)};
    const NodePtr node = shifts ? apply("_contrib_quantize_asym", name, inputs)
                                : apply("_contrib_quantize_v2", name, inputs, {{"out_type", options_.dtype}});
    calibrated_.emplace(node.get(), output_name(*source, entry.output_index()));
    return bytes_.emplace(key, outputs_of(node.get())).first->second;
  }

  bool has_own_rows(const Quantization& q) const { return options_.rowwise && q.own_rows_attribute; }

  bool keeps_floats(const Node& node, size_t i) const {
    const Quantization& q = quantization_of(node);
    return (q.keeps_input && q.keeps_input(*node.attrs, i, node.inputs.size())) || (i > 0 && has_own_rows(q));
  }

  bool is_parameter(const Node& source) const {
    return is_variable(source) && options_.parameters.contains(source.label->name);
  }

  bool has_rowwise_weight(const Node& node) const {
    return options_.rowwise && quantization_of(node).has_rowwise_weight && is_parameter(*node.inputs[1].node());
  }

  static Ranged parameter(const std::string& name, bool is_rowwise) {
    const auto variable = [&](const char* suffix, Symbol::Texts texts = {}) {
      return Symbol::variable(name + suffix, std::move(texts)).outputs()[0];
    };
    return {variable("", is_rowwise ? Symbol::Texts{{kRangesKey, "rows"}} : Symbol::Texts()), variable("_min"),
            variable("_max")};
  }

  // The node that takes the place of another, brought back to bytes.
  NodePtr quantized(const Node& node) {
    const Quantization& q = quantization_of(node);
    std::vector<NDArray> inputs, ends;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (keeps_floats(node, i)) {
        inputs.push_back(as_floats(node.inputs[i]));
        continue;
      }
      Ranged bytes = as_bytes(node.inputs[i], q.shifts_data && i == 0, i == 1 && has_rowwise_weight(node));
      inputs.push_back(std::move(bytes.data));
      ends.push_back(std::move(bytes.low));
      ends.push_back(std::move(bytes.high));
    }
    inputs.insert(inputs.end(), ends.begin(), ends.end());
    const OpDef& op = find_op(q.becomes);
    NodePtr made(new Node);
    made->op = &op;
    made->inputs = std::move(inputs);
    made->label = std::make_unique<NodeLabel>();
    made->label->name = "quantized_" + node.label->name;
    made->label->attrs = node.label->attrs;
    made->label->subgraphs = node.label->subgraphs;
    for (const auto& [key, text] : q.attributes) made->label->attrs[key] = text;
    if (op.schema->find("out_type")) made->label->attrs["out_type"] = options_.dtype;
    if (q.float_attribute && wants_floats(node)) made->label->attrs[q.float_attribute] = "True";
    if (has_own_rows(q)) made->label->attrs[q.own_rows_attribute] = "True";
    if (has_rowwise_weight(node)) made->label->attrs["rowwise"] = "True";
    made->attrs = parse_attrs(op, made->label->attrs);
    return requantized(node, std::move(made));
  }

  NodePtr requantized(const Node& node, NodePtr made) {
    const Quantization& own = quantization_of(*made);
    const std::string name = output_name(node, 0);
    if (own.makes_sums) {
      const Ranged sums = outputs_of(made.get());
      const NDArray parts[] = {sums.data, sums.low, sums.high};
      made = apply("_contrib_requantize", "requantize_" + node.label->name, parts, {{"out_type", options_.dtype}});
      calibrated_.emplace(made.get(), name);
    } else if (own.calibrated == Quantization::Calibrated::kResult) {
      calibrated_.emplace(made.get(), name);
    }
    return made;
  }

  bool wants_floats(const Node& node) const {
    return std::ranges::none_of(readers_.of(&node), [&](const Reader& reader) {
      if (!choice_.contains(reader.node)) return false;
      const std::vector<NDArray>& inputs = reader.node->inputs;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].node().get() == &node && !keeps_floats(*reader.node, i)) return true;
      return false;
    });
  }

  const std::vector<NDArray> heads_;
  const std::vector<Node*> order_;
  const Readers readers_;
  const QuantizeOptions& options_;
  const Choice choice_;
  // What stands for the nodes of the given graph: on bytes; on floats, for those on bytes behind a dequantize.
  std::unordered_map<const Node*, NodePtr> quantized_, floats_;
  std::map<Entry, Ranged> bytes_;                            // outputs on floats that were quantized
  std::unordered_map<const Node*, std::string> calibrated_;  // what the ranges of new nodes are called
};

// What the array whose range a node may be told was called before the graph was quantized.
std::string name_before(const Node& node) {
  const bool is_input = quantization_of(node).calibrated == Quantization::Calibrated::kInput;
  const Node& source = is_input ? *node.inputs[0].node() : node;
  const std::string name = output_name(source, is_input ? node.inputs[0].output_index() : 0);
  constexpr std::string_view kPrefix = "quantized_";
  return source.label->name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

}  // namespace

std::string range_text(float end) {
  const std::string text = fmt::format("{:f}", end);
  return std::abs(std::stof(text) - end) <= 1e-3f * std::abs(end) ? text : fmt::format("{}", end);
}

QuantizedSymbol quantize(const Symbol& symbol, const QuantizeOptions& options) {
  check(options.dtype == "int8" || options.dtype == "uint8" || options.dtype == "auto", ErrorKind::kValue,
        "quantize: dtype must be int8, uint8 or auto, got {}", options.dtype);
  if (!options.fuse) return Quantizer(symbol, options).run();
  QuantizeOptions further = options;
  const Symbol fused = with_fused_layers(symbol, further);
  return Quantizer(fused, further).run();
}

Symbol with_ranges(const Symbol& quantized, const Ranges& ranges) {
  for (const auto& [name, range] : ranges)
    check(std::isfinite(range.first) && std::isfinite(range.second), ErrorKind::kValue,
          "calibration: the range of {} must be two finite numbers, got {} to {}", name, range.first, range.second);
  return Symbol(
      rewired(quantized.outputs(), [&](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
        if (quantization_of(node).calibrated == Quantization::Calibrated::kNothing) return {};
        const auto found = ranges.find(name_before(node));
        if (found == ranges.end()) return {};
        const NodePtr copy = with_inputs(node, {inputs.begin(), inputs.end()});
        copy->label->attrs["min_calib_range"] = range_text(found->second.first);
        copy->label->attrs["max_calib_range"] = range_text(found->second.second);
        copy->attrs = parse_attrs(*copy->op, copy->label->attrs);
        return all_outputs(copy);
      }));
}

}  // namespace headrace
