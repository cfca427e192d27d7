#include <algorithm>
#include <unordered_map>

#include "graph/labels.h"
#include "graph/layer_chains.h"
#include "graph/nodes.h"
#include "graph/quantize.h"
#include "graph/rewire.h"
#include "op/op_def.h"

namespace headrace {
namespace {

class LayerFusion {
 public:
  LayerFusion(const Symbol& symbol, QuantizeOptions& options) : heads_(symbol.outputs()), options_(options) {
    for (LayerChain& chain : layer_chains(heads_, [](const Node&, const Node& next) { return is_relu(next); })) {
      const std::vector<Node*> nodes = chain.nodes();
      taken_.insert(nodes.begin(), nodes.end());
      if (std::ranges::none_of(nodes, [this](const Node* one) { return is_excluded(*one); }))
        chains_.emplace(nodes.back(), chain);
      else
        for (const Node* one : nodes) options_.excluded_nodes.insert(one->label->name);
    }
  }

  Symbol run() {
    return Symbol(rewired(heads_, [this](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
      if (taken_.contains(&node)) inputs_.emplace(&node, std::vector<NDArray>(inputs.begin(), inputs.end()));
      const auto found = chains_.find(&node);
      if (found == chains_.end()) return {};
      return {output_of(fused(found->second).get(), 0)};
    }));
  }

 private:
  bool is_excluded(const Node& node) const {
    return options_.excluded_nodes.contains(node.label->name) || options_.excluded_operators.contains(node.op->name);
  }

  // The operator that does what the chain does.
  NodePtr fused(const LayerChain& chain) const {
    const bool is_convolution = chain.layer->op == &find_op("Convolution");
    std::vector<NDArray> inputs = inputs_.at(chain.layer);
    Symbol::Texts texts = chain.layer->label->attrs;
    if (chain.norm) {
      const NodePtr affine = affine_of(*chain.norm);
      for (uint32_t k : {0u, 1u}) inputs.push_back(output_of(affine.get(), k));
      texts["with_scale"] = "True";
    }
    if (chain.sum) {
      inputs.push_back(inputs_.at(chain.sum)[1 - chain.sum_input]);
      texts["with_sum"] = "True";
    }
    if (chain.activation) texts["activation"] = "relu";
    return named_node(is_convolution ? "_fused_convolution" : "_fused_dense", chain.nodes().back()->label->name,
                      std::move(inputs), std::move(texts));
  }

  NodePtr affine_of(const Node& norm) const {
    const std::vector<NDArray>& all = inputs_.at(&norm);
    Symbol::Texts texts;
    for (const char* name : {"eps", "fix_gamma"}) texts.emplace(name, attr_to_text(attr_of(norm, name)));
    return named_node("_batch_norm_affine", norm.label->name + "_affine", {all.begin() + 1, all.end()},
                      std::move(texts));
  }

  const std::vector<NDArray> heads_;
  QuantizeOptions& options_;
  std::unordered_set<const Node*> taken_;                         // nodes of chains
  std::unordered_map<const Node*, LayerChain> chains_;            // by their last nodes
  std::unordered_map<const Node*, std::vector<NDArray>> inputs_;  // of nodes of chains, in the new graph
};

}  // namespace

Symbol with_fused_layers(const Symbol& symbol, QuantizeOptions& options) { return LayerFusion(symbol, options).run(); }

}  // namespace headrace
