#include "ops/reduce/surrounded.h"
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

std::optional<Elements> elements_of(const Reduction& reduction, AxisSet axes, const Surroundings& s) {
  const View& stored = *s.data;
  if (s.before->type != reduction_compute_type(stored.dtype(), s.result)) return {};
  Elements made{reduction.of(s.before->formula, stored.dtype()), s.before->type, s.before->parameters, {}, 0, {}};
  const SmallVector<size_t, 6> order = memory_order(stored.shape(), stored.strides(), axes);
  for (size_t d : order) {
    made.axes |= ((axes >> d) & 1) << made.space.size();
    made.space.push_back(stored.shape()[d]);
  }
  if (!has_long_stretches(made.space, made.axes)) return {};
  const bool is_small = stored.size() <= kFewElements;  // gathered in any order
  for (const ViewPtr& input : s.before->inputs) {
    made.strides.push_back(strides_in_space(*input, stored.shape(), {order.data(), order.size()}));
    if (!is_small && !is_read_along(made.space, made.strides.back())) return {};
  }
  return made;
}

struct Surrounded {
  const Reduction& reduction;
  AxisSet axes;
  std::optional<double> initial;
  DType reduced;
  std::optional<Elements> elements;
  std::optional<Surroundings::After> after;

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
    if (!after) return reduce(c, output);
    if (output.size == 0) return;
    void* values = c.workspace(static_cast<size_t>(output.size) * item_size(reduced));
    reduce(c, {values, reduced, output.shape, output.strides, output.size});
    after->run(c, values, reduced, elements ? elements->strides.size() : 1);
  }
};

}  // namespace

std::shared_ptr<const OpDef> surrounded(const Reduction& reduction, AxisSet axes, std::optional<double> initial,
                                        const Surroundings& surroundings, OpDef op) {
  Surrounded made{reduction, axes, initial, surroundings.result, {}, surroundings.after};
  size_t inputs = 1;
  if (surroundings.before) {
    made.elements = elements_of(reduction, axes, surroundings);
    if (!made.elements) return nullptr;
    inputs = surroundings.before->inputs.size();
  }
  if (made.after) {
    inputs += made.after->further();
    op.outputs = made.after->formula->formula.outputs.size();
  }
  op.inputs.assign(inputs, "data");
  op.strided_inputs = true;
  op.kernel = [made = std::move(made)](KernelContext& c, const Attrs&) { made.run(c); };
  return std::make_shared<const OpDef>(std::move(op));
}

}  // namespace headrace
