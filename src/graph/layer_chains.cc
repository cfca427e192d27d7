#include "graph/layer_chains.h"

#include <unordered_set>

#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/readers.h"
#include "op/op_def.h"

namespace headrace {
namespace {

bool has_channels_last(const Node& layer) {
  const AttrValue layout = attr_of(layer, "layout");
  const auto* axes = std::get_if<std::string>(&layout);
  return axes && axes->ends_with('C');
}

class Finder {
 public:
  Finder(std::span<const NDArray> heads, FunctionRef<bool(const Node&, const Node&)> is_activation)
      : order_(topological_order(heads)), readers_(heads), is_activation_(is_activation) {}

  std::vector<LayerChain> run() {
    std::vector<LayerChain> chains;
    for (Node* node : order_) {
      if (node->op != &convolution_ && node->op != &dense_) continue;
      chains.push_back(chain_from(node));
      for (const Node* one : chains.back().nodes()) taken_.insert(one);
    }
    return chains;
  }

 private:
  // Null unless one node alone reads the first output, once, and nothing else is read.
  Node* only_reader(const Node* node) const {
    const std::span<const Reader> readers = readers_.of(node);
    if (readers.size() != 1 || readers[0].output != 0) return nullptr;
    Node* reader = readers[0].node;
    return reader && reader->op && !taken_.contains(reader) ? reader : nullptr;
  }

  LayerChain chain_from(Node* layer) const {
    LayerChain chain{.layer = layer};
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
    if (next && is_activation_(*layer, *next)) take(chain.activation);
    return chain;
  }

  bool is_norm_of(const Node& norm, const Node& layer) const {
    return norm.op == &norm_ && norm.inputs[0].node().get() == &layer &&
           attr_of(norm, "axis") == AttrValue(int64_t{1}) && !std::get<bool>(attr_of(norm, "output_mean_var")) &&
           !has_channels_last(layer);
  }

  const OpDef &convolution_ = find_op("Convolution"), &dense_ = find_op("FullyConnected"),
              &norm_ = find_op("BatchNorm"), &sum_ = find_op("elemwise_add");
  const std::vector<Node*> order_;
  const Readers readers_;
  const FunctionRef<bool(const Node&, const Node&)> is_activation_;
  std::unordered_set<const Node*> taken_;
};

}  // namespace

std::vector<Node*> LayerChain::nodes() const {
  std::vector<Node*> all;
  for (Node* node : {layer, norm, sum, activation})
    if (node) all.push_back(node);
  return all;
}

std::vector<LayerChain> layer_chains(std::span<const NDArray> heads,
                                     FunctionRef<bool(const Node&, const Node&)> is_activation) {
  return Finder(heads, is_activation).run();
}

AttrValue attr_of(const Node& node, const char* name) { return node.op->schema->find(name)->get(node.attrs->data()); }

bool is_relu(const Node& node) {
  static const OpDef &relu = find_op("relu"), &activation = find_op("Activation");
  return node.op == &relu || (node.op == &activation && attr_of(node, "act_type") == AttrValue(std::string("relu")));
}

}  // namespace headrace
