#include "graph/opened_call.h"

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/rewire.h"

namespace headrace {

bool is_call(std::string_view op) noexcept { return op == "_CachedOp"; }

std::vector<NDArray> opened_call(std::span<const NDArray> body, const std::string& name,
                                 std::span<const NDArray> inputs) {
  size_t wanted = 0;
  std::vector<NDArray> results = rewired(body, [&](const Node& part, std::span<const NDArray> values) {
    if (is_variable(part)) {
      const size_t place = wanted++;
      return std::vector<NDArray>{place < inputs.size() ? inputs[place] : NDArray()};
    }
    const NodePtr copy = with_inputs(part, {values.begin(), values.end()});
    copy->label->name = name + "_" + part.label->name;
    return all_outputs(copy);
  });
  check(wanted == inputs.size(), ErrorKind::kRuntime,
        "_CachedOp {}: its graph reads {} variables, but there are {} inputs", name, wanted, inputs.size());
  return results;
}

}  // namespace headrace
