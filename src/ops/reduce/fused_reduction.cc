#include "ops/reduce/fused_reduction.h"
#include "op/kernel.h"

namespace headrace {
namespace {

// Computed elements, seen in the order in which they would lie in memory: the order decides over the bits of sums.
struct Elements {
  std::shared_ptr<const Reduction> reduction;
  ComputeType type;
  std::vector<double> parameters;
  Shape space;
  AxisSet axes = 0;
  std::vector<Strides> strides;  // of each input along the dimensions of the space
};

Strides strides_in_space(const View& input, const Shape& shape, std::span<const size_t> order) {
  const size_t lead = shape.size() - input.shape().size();
  Strides strides;
  for (size_t d : order) {
    const bool is_repeated = d < lead || (input.shape()[d - lead] == 1 && shape[d] != 1);
    strides.push_back(is_repeated ? 0 : input.strides()[d - lead]);
  }
  return strides;
}

// Whether neighbours in the space are neighbours in memory, or one element.
bool is_read_along(const Shape& space, const Strides& strides) {
  for (size_t d = space.size(); d-- > 0;)
    if (space[d] != 1) return strides[d] == 0 || strides[d] == 1;
  return true;
}

std::optional<Elements> elements_of(const Reduction& reduction, AxisSet axes, const Fusion& s) {
  const View& stored = *s.data;
  if (s.prologue->type != reduction_compute_type(stored.dtype(), s.result)) return {};
  Elements made{reduction.of(s.prologue->formula, stored.dtype()), s.prologue->type, s.prologue->parameters, {}, 0, {}};
  const SmallVector<size_t, 6> order = memory_order(stored.shape(), stored.strides(), axes);
  for (size_t d : order) {
    made.axes |= ((axes >> d) & 1) << made.space.size();
    made.space.push_back(stored.shape()[d]);
  }
  if (!has_long_stretches(made.space, made.axes)) return {};
  const bool is_small = stored.size() <= kFewElements;  // gathered in any order
  for (const ViewPtr& input : s.prologue->inputs) {
    made.strides.push_back(strides_in_space(*input, stored.shape(), {order.data(), order.size()}));
    if (!is_small && !is_read_along(made.space, made.strides.back())) return {};
  }
  return made;
}

struct FusedReduction {
  const Reduction& reduction;
  AxisSet axes;
  std::optional<double> initial;
  DType reduced;
  std::optional<Elements> elements;
  std::optional<Fusion::Epilogue> epilogue;

  void reduce(KernelContext& c, const Tensor& output) const {
    if (!elements) return reduction.run(c, c.input(0), axes, output, {.initial = initial});
    SmallVector<Operand, 8> operands;
    for (size_t i = 0; i < elements->strides.size(); ++i)
      operands.push_back({c.input(i).data, c.input(i).dtype, elements->strides[i].data()});
    elements->reduction->run(c, elements->space, {operands.data(), operands.size()}, elements->axes, output,
                             {.initial = initial, .type = elements->type, .parameters = elements->parameters});
  }

  void run(KernelContext& c) const {
    const Tensor& output = c.output(0);
    if (!epilogue) return reduce(c, output);
    if (output.size == 0) return;
    void* values = c.workspace(static_cast<size_t>(output.size) * item_size(reduced));
    reduce(c, {values, reduced, output.shape, output.strides, output.size});
    epilogue->run(c, values, reduced, elements ? elements->strides.size() : 1);
  }
};

}  // namespace

std::shared_ptr<const OpDef> fused_reduction(const Reduction& reduction, AxisSet axes, std::optional<double> initial,
                                             const Fusion& fusion, OpDef op) {
  FusedReduction made{reduction, axes, initial, fusion.result, {}, fusion.epilogue};
  size_t inputs = 1;
  if (fusion.prologue) {
    made.elements = elements_of(reduction, axes, fusion);
    if (!made.elements) return nullptr;
    inputs = fusion.prologue->inputs.size();
  }
  if (made.epilogue) {
    inputs += made.epilogue->further();
    op.outputs = made.epilogue->formula->formula.outputs.size();
  }
  op.inputs.assign(inputs, "data");
  op.strided_inputs = true;
  op.kernel = [made = std::move(made)](KernelContext& c, const Attrs&) { made.run(c); };
  return std::make_shared<const OpDef>(std::move(op));
}

}  // namespace headrace
