#include "op/trace.h"

#include <algorithm>

#include "base/check.h"
#include "op/invoke_stored.h"
#include "op/pointwise.h"
#include "op/rule.h"

namespace headrace {
namespace {

using Types = std::vector<ViewPtr>;

ViewPtr abstract_view(const Shape& shape, DType dtype, const Strides& strides, int64_t offset = 0) {
  return ViewPtr(new View(nullptr, dtype, shape, strides, offset));
}

Types types_of_kernel(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs) {
  if (op.as_view) {
    const View& view = *inputs[0].view();
    Geometry in{view.shape(), view.strides(), view.offset()}, out;
    if (op.as_view(in, out, *attrs)) return {abstract_view(out.shape, view.dtype(), out.strides, out.offset)};
  }
  Infer infer(op, inputs, true);
  op.infer(infer, *attrs);
  Types types;
  for (const Infer::Type& type : infer.outputs()) types.push_back(abstract_view(type.shape, type.dtype, type.strides));
  return types;
}

Types types_of_composition(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs) {
  std::vector<NDArray> detached;
  for (const NDArray& input : inputs) detached.push_back(input.off_tape());
  Types types;
  for (const NDArray& result : op.compose(detached, *attrs)) types.push_back(result.view());
  return types;
}

Types types_of_pointwise(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs) {
  const PointwiseResult result = pointwise_result(op, *attrs, inputs);
  return Types(op.outputs, abstract_view(result.shape, result.types.result, result.strides));
}

}  // namespace

NDArray NDArray::detach() const { return node_ && thread_state().tracing ? without_history(*this) : NDArray(view_); }

NDArray abstract_variable(const Shape& shape, DType dtype, const Strides& strides, int64_t offset) {
  NDArray array(abstract_view(shape, dtype, strides, offset));
  NodePtr node(new Node);
  node->is_leaf = true;
  node->request = GradReq::kWrite;
  array.set_node(std::move(node), 0);
  return array;
}

NDArray abstract_variable(const Shape& shape, DType dtype) {
  return abstract_variable(shape, dtype, contiguous_strides(shape));
}

void trace_call(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  const bool only_writes = op.mutates != kNothing && outputs.empty();
  check(!only_writes && std::ranges::all_of(outputs, [](const NDArray& output) { return !output; }),
        ErrorKind::kRuntime,
        "{}: in-place writes (out=, +=, x[:]=) cannot be traced into a graph; write the result to a new array",
        op.shown_name());
  if (op.compose && !op.gradient && !thread_state().keeps_compositions) {
    std::vector<NDArray> results = op.compose(inputs, *attrs);
    std::move(results.begin(), results.begin() + static_cast<ptrdiff_t>(outputs.size()), outputs.begin());
    return;
  }
  Types types = op.pointwise ? types_of_pointwise(op, attrs, inputs)
                : op.compose ? types_of_composition(op, attrs, inputs)
                             : types_of_kernel(op, attrs, inputs);
  NodePtr node(new Node);
  node->op = &op;
  node->attrs = attrs;
  for (const NDArray& input : inputs) node->inputs.push_back(dense(input));  // as all arrays of a graph
  node->outputs = types;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = NDArray(types[i]);
    outputs[i].set_node(node, static_cast<uint32_t>(i));
  }
}

}  // namespace headrace
