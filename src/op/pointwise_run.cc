// Issuing and running pointwise operators.

#include "engine/runtime.h"
#include "ndarray/strided_copy.h"
#include "op/call_body.h"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

using namespace dispatch_detail;

constexpr size_t kMaxOperands = 16;
using DTypes = SmallVector<DType, 8>;
using Parameters = SmallVector<double, 8>;

Shape iteration_space(const OpDef& op, std::span<const NDArray> inputs) {
  Shape space = inputs[0].shape();
  for (const NDArray& input : inputs.subspan(1)) {
    if (input.shape() == space) continue;
    check(!op.pointwise->equal_shapes, ErrorKind::kRuntime,
          "{}: arrays of one shape are needed, got {} and {}; a broadcasting operator takes different shapes", op.name,
          to_string(space), to_string(input.shape()));
    space = broadcast_shapes(space, input.shape(), op.name.c_str());
  }
  return space;
}

Parameters parameters_of(const Pointwise& body, const Attrs& attrs) {
  Parameters values;
  const char* base = static_cast<const char*>(attrs.data());
  for (size_t offset : body.parameter_offsets) values.push_back(*reinterpret_cast<const double*>(base + offset));
  return values;
}

// Whether writing `output` while reading `input` element by element reads each element before it is overwritten.
bool same_elements(const View& input, const View& output) {
  return input.offset() == output.offset() && input.dtype() == output.dtype() && input.shape() == output.shape() &&
         input.strides() == output.strides();
}

bool can_write_directly(std::span<const NDArray> inputs, const NDArray& output) {
  for (const NDArray& input : inputs)
    if (overlaps(*input.view(), *output.view()) && !same_elements(*input.view(), *output.view())) return false;
  return true;
}

// Strides of `view` in a space of `ndim` dimensions to which it is broadcast.
void broadcast_strides(const View& view, const Shape& space, int64_t* strides) {
  size_t lead = space.size() - view.shape().size();
  for (size_t i = 0; i < space.size(); ++i) {
    if (i < lead)
      strides[i] = 0;
    else
      strides[i] = view.shape()[i - lead] == 1 && space[i] != 1 ? 0 : view.strides()[i - lead];
  }
}

PointwiseTypes types_of(const OpDef& op, std::span<View* const> inputs, const Attrs& attrs) {
  DTypes dtypes;
  for (const View* view : inputs) dtypes.push_back(view->dtype());
  return op.pointwise->dtypes(op.name.c_str(), {dtypes.data(), dtypes.size()}, attrs);
}

// A formula that gives its one input back, without a change of dtype.
bool is_plain_copy(const Pointwise& body, std::span<View* const> inputs, std::span<View* const> written) {
  return inputs.size() == 1 && written.size() == 1 && body.formula.outputs[0].kind() == Expr::Kind::kInput &&
         inputs[0]->dtype() == written[0]->dtype() && inputs[0]->storage() != written[0]->storage();
}

double cost_of(const OpDef& op, ComputeType type, int64_t elements) {
  return cost_ns(op.pointwise->program(type), elements);
}

}  // namespace

void invoke_pointwise(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                      std::span<NDArray> outputs) {
  const Pointwise& body = *op.pointwise;
  Shape space = iteration_space(op, inputs);
  DTypes dtypes;
  for (const NDArray& input : inputs) dtypes.push_back(input.dtype());
  PointwiseTypes types = body.dtypes(op.name.c_str(), {dtypes.data(), dtypes.size()}, *attrs);
  Device device = inputs[0].device();
  bool fresh = op.mutates == kNothing;
  NDArray late;  // an out= that overlaps an input: computed beside it, then copied
  for (NDArray& output : outputs) {
    if (output) {
      check_output(op, output, space, types.result);
      if (can_write_directly(inputs, output)) {
        fresh = false;
        continue;
      }
      late = output.detach();
    }
    output = NDArray(make_view(space, types.result, device));
  }
  CallBody call{&op, attrs, {}, static_cast<uint32_t>(inputs.size()), 0};
  call.views.reserve(inputs.size() + outputs.size());
  SmallVector<Var*, 8> reads, writes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.views.add(inputs[i].view());
    Var* var = &inputs[i].view()->storage()->var();
    ((op.mutates >> i) & 1u ? writes : reads).push_back(var);
  }
  for (const NDArray& output : outputs) {
    call.views.add(output.view());
    writes.push_back(&output.view()->storage()->var());
  }
  int64_t elements = outputs.empty() ? inputs[0].size() : outputs[0].size();
  TaskSpec spec{.name = op.name.c_str(),
                .reads = {reads.data(), reads.size()},
                .writes = {writes.data(), writes.size()},
                .cost_ns = cost_of(op, types.compute, elements),
                .fresh_writes = fresh};
  runtime().engine.push(spec, std::move(call));
  if (late) {
    copy_into(late, outputs[0]);
    outputs[0] = late;
  }
}

void run_pointwise(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs) {
  const Pointwise& body = *op.pointwise;
  ComputeType compute = types_of(op, inputs, attrs).compute;
  SmallVector<View*, kMaxOperands> written(outputs.begin(), outputs.end());
  for (uint32_t state : body.state_inputs) written.push_back(inputs[state]);

  const Shape* space = &written[0]->shape();
  bool flat = true;  // all arrays packed and of one shape: one dimension
  for (const View* view : inputs) flat &= view->is_contiguous() && view->shape() == *space;
  for (const View* view : written) flat &= view->is_contiguous() && view->shape() == *space;
  if (!flat && is_plain_copy(body, inputs, {written.data(), written.size()})) {
    Strides from(space->size());
    broadcast_strides(*inputs[0], *space, from.data());
    strided_copy(written[0]->data(), written[0]->strides(), inputs[0]->data(), from, *space, inputs[0]->dtype());
    return;
  }
  Shape line{written[0]->size()};
  size_t ndim = flat ? 1 : space->size();
  static constexpr int64_t kOne = 1;
  SmallVector<int64_t, 48> strides;
  if (!flat) strides.resize(ndim * (inputs.size() + written.size()));
  Operand operands[kMaxOperands];
  size_t count = 0;
  auto add = [&](const View& view) {
    const int64_t* steps = &kOne;
    if (!flat) {
      broadcast_strides(view, *space, strides.data() + ndim * count);
      steps = strides.data() + ndim * count;
    }
    operands[count++] = {view.data(), view.dtype(), steps};
  };
  for (const View* view : inputs) add(*view);
  for (const View* view : written) add(*view);
  Parameters parameters = parameters_of(body, attrs);
  std::span<const Operand> all(operands, count);
  run(body.program(compute), flat ? line : *space, all.first(inputs.size()), all.subspan(inputs.size()),
      {parameters.data(), parameters.size()});
}

namespace {

// What one task of update_many owns.
struct UpdateBody {
  const OpDef* op;
  std::vector<UpdateCall> calls;
  void operator()() const {
    for (const UpdateCall& call : calls) {
      SmallVector<View*, kMaxOperands> views;
      for (const NDArray& input : call.inputs) views.push_back(input.view().get());
      std::span<View* const> all(views.data(), views.size());
      run_pointwise(*op, *call.attrs, all, all.first(1));
    }
  }
};

}  // namespace

void update_many(const OpDef& op, std::span<const UpdateCall> calls) {
  check(static_cast<bool>(op.pointwise), ErrorKind::kValue, "{}: not an update operator", op.name);
  UpdateBody body{&op, {}};
  std::vector<Var*> reads, writes;
  double cost = 0;
  for (const UpdateCall& call : calls) {
    check(call.inputs.size() == op.inputs.size(), ErrorKind::kType, "{}: {} arrays are needed, got {}", op.name,
          op.inputs.size(), call.inputs.size());
    DTypes dtypes;
    UpdateCall kept{{}, call.attrs};
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const NDArray& input = call.inputs[i];
      check(input.shape() == call.inputs[0].shape(), ErrorKind::kValue, "{}: {} has shape {}, but {} has shape {}",
            op.name, op.inputs[i], to_string(input.shape()), op.inputs[0], to_string(call.inputs[0].shape()));
      bool written = i == 0 || ((op.mutates >> i) & 1u);
      (written ? writes : reads).push_back(&input.view()->storage()->var());
      dtypes.push_back(input.dtype());
      kept.inputs.push_back(input.detach());
    }
    PointwiseTypes types = op.pointwise->dtypes(op.name.c_str(), {dtypes.data(), dtypes.size()}, *call.attrs);
    cost += cost_of(op, types.compute, call.inputs[0].size());
    body.calls.push_back(std::move(kept));
  }
  runtime().engine.push(TaskSpec{.name = op.name.c_str(), .reads = reads, .writes = writes, .cost_ns = cost},
                        std::move(body));
}

}  // namespace headrace
