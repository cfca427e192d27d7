#include "op/composed_gradient.h"

#include "autograd/autograd.h"
#include "op/invoke.h"

namespace headrace {
namespace {

// In the place of an array, and a leaf.
NDArray stand_in_for(const NDArray& array) {
  NodePtr leaf(new Node);
  leaf->is_leaf = true;
  NDArray made = array.off_tape();
  made.set_node(std::move(leaf), 0);
  return made;
}

// The leaf becomes what it stands for: what was computed from it has come from `array`.
void put_back(const NDArray& stand_in, const NDArray& array) {
  static const OpDef& copy = find_op("_copy");
  Node& node = *stand_in.node();
  node.is_leaf = false;
  node.op = &copy;
  node.attrs = copy.default_attrs;
  node.inputs.push_back(array);
  node.outputs.push_back(array.view());
}

}  // namespace

void set_composed_gradient(Gradient& g, FunctionRef<std::vector<NDArray>(std::span<const NDArray>)> composition) {
  std::vector<NDArray> inputs, variables, heads, head_gradients;
  for (size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(stand_in_for(g.input(i)));
    if (g.wants(i)) variables.push_back(inputs[i]);
  }
  const std::vector<NDArray> results = composition(inputs);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!g.has_head(k)) continue;
    heads.push_back(results[k]);
    head_gradients.push_back(g.head(k));
  }
  std::vector<NDArray> gradients = autograd::trace_grad(heads, variables, head_gradients);
  auto next = gradients.begin();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (g.wants(i)) g.set(i, std::move(*next++));
    if (place_on_tape(g.input(i))) put_back(inputs[i], g.input(i));
  }
}

}  // namespace headrace
