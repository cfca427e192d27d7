#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/rewire.h"
#include "headrace/symbol.hpp"

namespace headrace {
namespace {

using Entry = std::pair<const Node*, uint32_t>;  // an output of a node

Entry entry_of(const NDArray& output) { return {output.node().get(), output.output_index()}; }

bool may_be_merged(const Node& node) {
  return node.op && !node.inputs.empty() && !node.op->is_random && node.op->mutates == kNothing && !node.op->open &&
         node.op->control_flow == ControlFlow::kNone;
}

// A copy of an output that is there `count` times already.
NDArray copy_of(const NDArray& output, size_t count) {
  const std::string name = output.node()->label->name + "_" + std::to_string(count - 1) + "_copy";
  return output_of(named_node("_copy", name, {output}).get(), 0);
}

}  // namespace

Symbol Symbol::with_common_nodes_merged() const {
  std::map<std::pair<const OpDef*, std::vector<Entry>>, std::vector<NodePtr>> known;  // by operator and inputs
  std::vector<NDArray> merged =
      rewired(outputs_, [&](const Node& node, std::span<const NDArray> inputs) -> std::vector<NDArray> {
        if (!may_be_merged(node)) return {};
        std::vector<Entry> entries;
        for (const NDArray& input : inputs) entries.push_back(entry_of(input));
        std::vector<NodePtr>& same_inputs = known[{node.op, std::move(entries)}];
        auto found = std::ranges::find_if(
            same_inputs, [&](const NodePtr& other) { return other->label->attrs == node.label->attrs; });
        if (found == same_inputs.end())
          found = same_inputs.insert(found, with_inputs(node, {inputs.begin(), inputs.end()}));
        std::vector<NDArray> outputs;
        for (uint32_t k = 0; k < output_count(node); ++k) outputs.push_back(output_of(found->get(), k));
        return outputs;
      });
  std::map<Entry, size_t> counts;
  for (NDArray& output : merged)
    if (const size_t count = counts[entry_of(output)]++; count > 0) output = copy_of(output, count);
  return Symbol(std::move(merged));
}

}  // namespace headrace
