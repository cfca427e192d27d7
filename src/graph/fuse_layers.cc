#include <algorithm>
#include <unordered_map>

#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/quantize.h"
#include "graph/rewire.h"
#include "op/op_def.h"

namespace headrace {
namespace {

// A layer and what follows it, each the only reader of the one before.
struct Chain {
  Node* layer = nullptr;
  Node *norm = nullptr, *sum = nullptr, *relu = nullptr;  // in this order, where they are there
  size_t sum_input = 0;                                   // which input of the sum the chain is

  std::vector<Node*> nodes() const {
    std::vector<Node*> all;
    for (Node* node : {layer, norm, sum, relu})
      if (node) all.push_back(node);
    return all;
  }
};

AttrValue attr_of(const Node& node, const char* name) { return node.op->schema->find(name)->get(node.attrs->data()); }

bool has_channels_last(const Node& layer) {
  const AttrValue layout = attr_of(layer, "layout");
  const auto* axes = std::get_if<std::string>(&layout);
  return axes && axes->ends_with('C');
}

class LayerFusion {
 public:
  LayerFusion(const Symbol& symbol, QuantizeOptions& options) : heads_(symbol.outputs()), options_(options) {
    const std::vector<Node*> order = topological_order(heads_);
    for (Node* node : order)
      for (const NDArray& input : node->inputs)
        if (input.node()) readers_[input.node().get()].push_back({node, input.output_index()});
    for (const NDArray& head : heads_) readers_[head.node().get()].push_back({nullptr, head.output_index()});
    for (Node* node : order) {
      if (node->op != &convolution_ && node->op != &dense_) continue;
      const Chain chain = chain_from(node);
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
  struct Reader {
    Node* node;  // null: the result of the symbol
    uint32_t output;
  };

  bool is_excluded(const Node& node) const {
    return options_.excluded_nodes.contains(node.label->name) || options_.excluded_operators.contains(node.op->name);
  }

  // Null unless one node alone reads the first output, once, and nothing else is read.
  Node* only_reader(const Node* node) const {
    const auto found = readers_.find(node);
    if (found == readers_.end() || found->second.size() != 1 || found->second[0].output != 0) return nullptr;
    Node* reader = found->second[0].node;
    return reader && reader->op && !taken_.contains(reader) ? reader : nullptr;
  }

  Chain chain_from(Node* layer) const {
    Chain chain{.layer = layer};
    Node* next = only_reader(layer);
    Node* last = layer;
    const auto take = [&](Node*& place) {
      place = last = next;
      next = only_reader(last);
    };
    if (layer->op == &convolution_) {
      if (next && is_norm_of(*next, *layer)) take(chain.norm);
      if (next && next->op == &sum_) {
        chain.sum_input = next->inputs[0].node().get() == last ? 0 : 1;
        take(chain.sum);
      }
    }
    if (next && is_relu(*next)) take(chain.relu);
    return chain;
  }

  bool is_norm_of(const Node& norm, const Node& layer) const {
    return norm.op == &norm_ && norm.inputs[0].node().get() == &layer &&
           attr_of(norm, "axis") == AttrValue(int64_t{1}) && !std::get<bool>(attr_of(norm, "output_mean_var")) &&
           !has_channels_last(layer);
  }

  bool is_relu(const Node& node) const {
    return node.op == &relu_ ||
           (node.op == &activation_ && attr_of(node, "act_type") == AttrValue(std::string("relu")));
  }

  // The operator that does what the chain does.
  NodePtr fused(const Chain& chain) const {
    const bool is_convolution = chain.layer->op == &convolution_;
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
    if (chain.relu) texts["activation"] = "relu";
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

  const OpDef &convolution_ = find_op("Convolution"), &dense_ = find_op("FullyConnected"),
              &norm_ = find_op("BatchNorm"), &sum_ = find_op("elemwise_add"), &relu_ = find_op("relu"),
              &activation_ = find_op("Activation");
  const std::vector<NDArray> heads_;
  QuantizeOptions& options_;
  std::unordered_map<const Node*, std::vector<Reader>> readers_;
  std::unordered_set<const Node*> taken_;                         // nodes of chains
  std::unordered_map<const Node*, Chain> chains_;                 // by their last nodes
  std::unordered_map<const Node*, std::vector<NDArray>> inputs_;  // of nodes of chains, in the new graph
};

}  // namespace

Symbol with_fused_layers(const Symbol& symbol, QuantizeOptions& options) { return LayerFusion(symbol, options).run(); }

}  // namespace headrace
