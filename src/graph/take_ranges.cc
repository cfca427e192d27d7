#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graph/joined_layers.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/quantize.h"
#include "graph/readers.h"
#include "graph/rewire.h"
#include "op/op_def.h"
#include "ops/control/control_flow.h"

namespace headrace {
namespace {

using Heads = std::vector<NDArray>;
using Outputs = std::vector<NDArray>;

constexpr std::array<const char*, 2> kEnds = {"min_calib_range", "max_calib_range"};

bool has_range(const Node& node) {
  return std::ranges::all_of(kEnds, [&](const char* key) { return node.label->attrs.contains(key); });
}

NodePtr with_texts(const Node& node, const Symbol::Texts& texts) {
  NodePtr copy = with_inputs(node, node.inputs);
  for (const auto& [key, value] : texts) copy->label->attrs[key] = value;
  copy->attrs = parse_attrs(*copy->op, copy->label->attrs);
  return copy;
}

// --- what is behind a layer or a sum ---------------------------------------------------------------------------------

bool gives_range(const Node& node) {
  if (!node.op) return false;
  if (node.op->control_flow == ControlFlow::kLayer) return node.attrs->as<JoinedLayerAttrs>().gives_range();
  return node.op == &find_op("_contrib_quantized_elemwise_add");
}

Outputs with_range_of(const Node& requantize, const Node& layer) {
  if (has_range(layer) || !has_range(requantize)) return {};
  Symbol::Texts ends;
  for (const char* key : kEnds) ends.emplace(key, requantize.label->attrs.at(key));
  return all_outputs(with_texts(layer, ends));
}

// Convolutions and sums stay as they are, as MXNet's do.
Outputs as_floats(const Node& layer) {
  if (!has_range(layer) || layer.op->control_flow == ControlFlow::kNone || layer.op->name == kJoinedConvolution.op)
    return {};
  const NodePtr copy = with_inputs(layer, layer.inputs);
  for (const char* key : kEnds) copy->label->attrs.erase(key);
  return all_outputs(with_texts(*copy, {{"enable_float_output", "True"}}));
}

Heads with_results_of_layers(const Heads& heads) {
  const OpDef &requantize = find_op("_contrib_requantize"), &dequantize = find_op("_contrib_dequantize");
  const Readers readers(heads);
  return rewired(heads, [&](const Node& node, std::span<const NDArray> inputs) -> Outputs {
    if (node.op != &requantize && node.op != &dequantize) return {};
    const Node& layer = *inputs[0].node();
    const auto is_other = [&](const Reader& reader) { return reader.node != &node; };
    if (!gives_range(layer) || std::ranges::any_of(readers.of(node.inputs[0].node().get()), is_other)) return {};
    return node.op == &requantize ? with_range_of(node, layer) : as_floats(layer);
  });
}

// --- what is concatenated --------------------------------------------------------------------------------------------

// Nodes with ranges that end, through concatenations and pooling, in one concatenation, and nowhere else.
class Concatenated {
 public:
  Concatenated(const Node& concat, const Readers& readers) : readers_(readers) { visit(concat); }

  const std::vector<const Node*>& nodes() const { return found_; }
  // The least and the largest end of their ranges, and 0.
  Symbol::Texts common_range() const {
    float low = 0, high = 0;
    for (const Node* node : found_) {
      low = std::min(low, static_cast<float>(std::stod(node->label->attrs.at(kEnds[0]))));
      high = std::max(high, static_cast<float>(std::stod(node->label->attrs.at(kEnds[1]))));
    }
    return {{kEnds[0], range_text(low)}, {kEnds[1], range_text(high)}};
  }

 private:
  void visit(const Node& node) {
    seen_.insert(&node);
    for (const NDArray& input : node.inputs) {
      const Node* source = input.node().get();
      if (!source->op || seen_.contains(source) || std::ranges::count(found_, source) > 0) continue;
      const auto is_other = [this](const Reader& reader) { return !seen_.contains(reader.node); };
      if (std::ranges::any_of(readers_.of(source), is_other)) continue;
      if (has_range(*source))
        found_.push_back(source);
      else if (source->op == &concat_ || source->op == &pooling_)
        visit(*source);
    }
  }

  const OpDef &concat_ = find_op("_contrib_quantized_concat"), &pooling_ = find_op("_contrib_quantized_pooling");
  const Readers& readers_;
  std::unordered_set<const Node*> seen_;
  std::vector<const Node*> found_;
};

Heads with_common_ranges(const Heads& heads) {
  const OpDef& concat = find_op("_contrib_quantized_concat");
  const Readers readers(heads);
  std::unordered_map<const Node*, Symbol::Texts> ranges;
  for (const Node* node : topological_order(heads)) {
    if (node->op != &concat) continue;
    const Concatenated parts(*node, readers);
    if (parts.nodes().size() < 2) continue;
    for (const Node* part : parts.nodes()) ranges[part] = parts.common_range();
  }
  return rewired(heads, [&](const Node& node, std::span<const NDArray> inputs) -> Outputs {
    const auto found = ranges.find(&node);
    if (found == ranges.end()) return {};
    return all_outputs(with_texts(*with_inputs(node, {inputs.begin(), inputs.end()}), found->second));
  });
}

}  // namespace

Symbol with_taken_ranges(const Symbol& quantized) {
  return Symbol(with_common_ranges(with_results_of_layers(quantized.outputs())));
}

}  // namespace headrace
