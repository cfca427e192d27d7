#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "graph/joined_layers.h"
#include "graph/labels.h"
#include "graph/layer_chains.h"
#include "graph/nodes.h"
#include "graph/rewire.h"
#include "graph/signature.h"
#include "op/op_def.h"
#include "ops/control/control_flow.h"

namespace headrace {
namespace {

using Heads = std::vector<NDArray>;

bool is_any_of(const AttrValue& value, std::initializer_list<const char*> words) {
  const auto* text = std::get_if<std::string>(&value);
  return text && std::ranges::any_of(words, [text](const char* word) { return *text == word; });
}

// Copies of results of operators, as a network that predicts has them, become these results.
Heads without_copies(const Heads& heads) {
  const OpDef &copy = find_op("_copy"), &dropout = find_op("Dropout");
  return rewired(heads, [&](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
    const bool is_copy = node.op == &copy || (node.op == &dropout && is_any_of(attr_of(node, "mode"), {"training"}));
    if (!is_copy || is_variable(*inputs[0].node())) return {};
    return {inputs[0], inputs[0]};  // the second output of Dropout, its mask, is not seen
  });
}

class Joining {
 public:
  Joining(const Heads& heads, bool for_bytes) : heads_(heads), for_bytes_(for_bytes) {
    const auto ends = [this](const Node& layer, const Node& next) { return ends_layer(layer, next); };
    for (const LayerChain& chain : layer_chains(heads_, ends)) {
      const bool is_convolution = chain.layer->op == &convolution_;
      if (is_convolution && !has_images(*chain.layer)) continue;
      add(chain, is_convolution ? kJoinedConvolution : kJoinedDense, name_of(chain, is_convolution));
    }
    for (Node* node : topological_order(heads_))
      for (const JoinedKind& kind : {kJoinedScores, kJoinedValues})
        if (node->op == &find_op(kind.layer)) add({.layer = node}, kind, fmt::format("{}_", kind.op.substr(1)));
  }

  Heads run() {
    return rewired(heads_, [this](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
      if (parts_.contains(&node)) inputs_.emplace(&node, std::vector<NDArray>(inputs.begin(), inputs.end()));
      const auto found = joins_.find(&node);
      if (found == joins_.end()) return {};
      return {output_of(joined(found->second).get(), 0)};
    });
  }

 private:
  struct Join {
    LayerChain chain;
    JoinedKind kind;
    std::string name;
  };

  void add(const LayerChain& chain, const JoinedKind& kind, const std::string& prefix) {
    const std::vector<Node*> nodes = chain.nodes();
    parts_.insert(nodes.begin(), nodes.end());
    const bool is_attention = kind.op == kJoinedScores.op || kind.op == kJoinedValues.op;  // counted together
    int& count = counts_[std::string(is_attention ? kJoinedScores.op : kind.op)];
    joins_.emplace(nodes.back(), Join{chain, kind, fmt::format("{}{}", prefix, count++)});
  }

  static bool has_images(const Node& layer) {
    const AttrValue kernel = attr_of(layer, "kernel");
    const auto* extents = std::get_if<Shape>(&kernel);
    return extents && (extents->size() == 2 || extents->size() == 3);
  }

  // Functions that MXNet lets follow a layer.
  bool ends_layer(const Node& layer, const Node& next) const {
    const bool is_dense = layer.op != &convolution_;
    const std::string& op = next.op->name;
    if (op == "Activation") {
      const AttrValue kind = attr_of(next, "act_type");
      return is_any_of(kind, {"relu"}) || (!for_bytes_ && is_any_of(kind, {"sigmoid", "tanh", "softrelu"}));
    }
    if (op == "LeakyReLU") {
      const AttrValue kind = attr_of(next, "act_type");
      return is_any_of(kind, {"leaky", "gelu"}) || (is_dense && is_any_of(kind, {"elu"}));
    }
    if (op == "clip") {
      const bool is_behind_sum = next.inputs[0].node()->op == &find_op("elemwise_add");
      return std::get<double>(attr_of(next, "a_min")) == 0 && !(for_bytes_ && is_behind_sum);
    }
    return is_dense && (op == "abs" || (!for_bytes_ && (op == "square" || op == "sqrt" || op == "exp")));
  }

  // As MXNet calls it, but for its number.
  static std::string name_of(const LayerChain& chain, bool is_convolution) {
    if (!is_convolution) return chain.activation ? "sg_mkldnn_fully_connected_eltwise_" : "sg_mkldnn_fully_connected_";
    std::string name = "sg_mkldnn_conv_";
    if (chain.norm) name += "bn_";
    if (chain.sum) name += "add_";
    if (chain.activation) name += "act_";
    return name;
  }

  static Symbol::Texts texts_of(const Join& join) {
    const LayerChain& chain = join.chain;
    if (join.kind.op == kJoinedConvolution.op) {
      Symbol::Texts texts;
      if (chain.norm) texts["with_bn"] = "true";
      if (chain.sum) texts["with_sum"] = "true";
      if (chain.activation) texts[chain.sum ? "with_postsum_act" : "with_act"] = "true";
      return texts;
    }
    if (join.kind.op == kJoinedDense.op)
      return chain.activation ? Symbol::Texts{{"with_eltwise", "True"}} : Symbol::Texts{};
    return {{"heads", attr_to_text(attr_of(*chain.layer, "heads"))},
            {"quantized", "False"},
            {"enable_float_output", "False"}};
  }

  // The chain becomes the body; what it reads of others, variables there and inputs here.
  NodePtr joined(const Join& join) const {
    std::vector<NDArray> taken;
    std::map<std::string, int> counts;  // of variables called after the same
    const auto variable = [&](const NDArray& source) {
      taken.push_back(source);
      const std::string name = output_name(*source.node(), source.output_index());
      return Symbol::variable(fmt::format("{}{}", name, counts[name]++)).outputs()[0];
    };
    NDArray value;
    const Node* before = nullptr;
    for (const Node* part : join.chain.nodes()) {
      const std::vector<NDArray>& outside = inputs_.at(part);
      std::vector<NDArray> inputs;
      for (size_t i = 0; i < outside.size(); ++i) {
        const bool is_before = before && part->inputs[i].node().get() == before;
        inputs.push_back(is_before ? value : variable(outside[i]));
      }
      if (part == join.chain.sum && join.chain.sum_input == 1) std::swap(inputs[0], inputs[1]);
      value = output_of(with_inputs(*part, std::move(inputs)).get(), 0);
      before = part;
    }
    const NodePtr made = named_node(join.kind.op, join.name, std::move(taken), texts_of(join));
    made->label->subgraphs = {{value}};
    return made;
  }

  const Heads heads_;
  const bool for_bytes_;
  const OpDef& convolution_ = find_op("Convolution");
  std::unordered_map<std::string, int> counts_;                   // of joined layers
  std::unordered_set<const Node*> parts_;                         // nodes of chains
  std::unordered_map<const Node*, Join> joins_;                   // by their last nodes
  std::unordered_map<const Node*, std::vector<NDArray>> inputs_;  // of nodes of chains, in the new graph
};

}  // namespace

Symbol with_joined_layers(const Symbol& symbol, bool for_bytes) {
  const Symbol joined(Joining(without_copies(symbol.outputs()), for_bytes).run());
  return for_bytes ? with_taken_ranges(joined) : joined;
}

}  // namespace headrace
