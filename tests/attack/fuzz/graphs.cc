#include "tests/attack/fuzz/graphs.h"

#include <algorithm>
#include <string>

#include "graph/cached_op.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "headrace/autograd.hpp"
#include "op/invoke.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 18;  // of all arrays of a graph that is run
constexpr size_t kMostNodes = 300;
constexpr size_t kLongestNumber = 3;  // digits, where the sizes of results do not follow from types

bool has_long_number(const std::string& text) {
  size_t digits = 0;
  for (char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kLongestNumber) return true;
  }
  return false;
}

// Whether no attribute of a node, or of the bodies of it, asks for much.
bool has_small_attrs(const Node& node) {
  const auto is_small = [](const auto& entry) { return is_node_attr(entry.first) || !has_long_number(entry.second); };
  if (!node.label || !std::ranges::all_of(node.label->attrs, is_small)) return false;
  return std::ranges::all_of(node.label->subgraphs, [](const std::vector<NDArray>& heads) {
    return std::ranges::all_of(topological_order(heads), [](const Node* inner) { return has_small_attrs(*inner); });
  });
}

bool is_small(const Symbol& symbol, const KnownTypes& known) {
  const std::vector<Node*> nodes = topological_order(symbol.outputs());
  if (nodes.size() > kMostNodes) return false;
  bool has_bodies = false, is_known = true;
  int64_t left = kMostElements;
  for (const Node* node : nodes) has_bodies |= !node->label->subgraphs.empty();
  for (const InferredTypes::Type& type : infer_types(symbol.internals(), known).outputs) {
    is_known &= type.is_known();
    if (type.is_known()) left -= std::min(element_count(*type.shape), kMostElements + 1);
  }
  if (left < 0) return false;
  return (is_known && !has_bodies) ||
         std::ranges::all_of(nodes, [](const Node* node) { return has_small_attrs(*node); });
}

// Small numbers of both signs, halves among them.
NDArray varied(const Shape& shape, DType dtype) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 17) / 2 - 2;
  return cast_to(NDArray::from(std::span<const float>(values), shape), dtype);
}

std::vector<NDArray> arrays_for(const InferredTypes& types) {
  std::vector<NDArray> arrays;
  for (const InferredTypes::Type& type : types.inputs) arrays.push_back(varied(*type.shape, *type.dtype));
  return arrays;
}

void wait(const std::vector<NDArray>& arrays) {
  for (const NDArray& array : arrays) array.wait_to_read();
}

void train(CachedOp& op, std::vector<NDArray> inputs) {
  for (NDArray& input : inputs)
    if (is_floating(input.dtype())) autograd::attach_grad(input);
  std::vector<NDArray> outputs;
  {
    autograd::RecordScope scope;
    outputs = op(inputs);
  }
  for (const NDArray& output : outputs)
    if (output.node() && is_floating(output.dtype())) autograd::backward(output, true);
  for (const NDArray& input : inputs)
    if (is_floating(input.dtype())) autograd::grad_of(input).wait_to_read();
}

}  // namespace

void infer_and_run(const Symbol& symbol, const KnownTypes& known) {
  const InferredTypes types = infer_types(symbol, known);
  if (!std::ranges::all_of(types.inputs, &InferredTypes::Type::is_known) || !is_small(symbol, known)) return;
  for (bool compile : {true, false}) {
    CachedOp op(symbol, {.compile = compile});
    accepts([&] { wait(op(arrays_for(types))); });
    accepts([&] { train(op, arrays_for(types)); });
  }
}

}  // namespace headrace::fuzz
