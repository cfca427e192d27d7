// Issuing and running pointwise operators.

#include "base/check.h"
#include "ndarray/strided_copy.h"
#include "op/call_body.h"
#include "op/formula/transfer.h"
#include "op/fused.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/packed_copies.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

using namespace dispatch_detail;

constexpr size_t kMaxOperands = 2 * kMostFusedArrays;  // a fused operator may read and write every array
using DTypes = SmallVector<DType, 8>;

// The shape of the results; `made` is where it lies when it is not that of the first input.
const Shape& iteration_space(const OpDef& op, std::span<const NDArray> inputs, Shape& made) {
  const Shape* space = &inputs[0].shape();
  for (const NDArray& input : inputs.subspan(1)) {
    if (input.shape() == *space) continue;
    check(!op.pointwise->equal_shapes, ErrorKind::kRuntime,
          "{}: arrays of one shape are needed, got {} and {}; a broadcasting operator takes different shapes",
          op.shown_name(), to_string(*space), to_string(input.shape()));
    made = broadcast_shapes(*space, input.shape(), op.shown_name());
    space = &made;
  }
  return *space;
}

// Whether each element is read before it is overwritten, element by element.
bool can_write_directly(std::span<const NDArray> inputs, const NDArray& output) {
  for (const NDArray& input : inputs)
    if (overlaps(*input.view(), *output.view()) && !same_elements(*input.view(), *output.view())) return false;
  return true;
}

// Large, and with neighbours far apart where the next axis has them close, as in a transposed matrix: reading it in the
// order of the space fetches a cache line per element. A blocked copy first is several times as fast.
bool is_scattered(const View& view) {
  constexpr int64_t kFewElements = 1 << 14, kLineBytes = 64;
  if (view.is_contiguous() || view.size() < kFewElements) return false;
  const auto far = [&](size_t axis) { return std::abs(view.strides()[axis]); };
  size_t last = view.shape().size() - 1;
  while (last > 0 && view.shape()[last] == 1) --last;
  if (far(last) * static_cast<int64_t>(item_size(view.dtype())) < kLineBytes) return false;
  for (size_t i = 0; i < last; ++i)
    if (view.shape()[i] > 1 && far(i) > 0 && far(i) < far(last)) return true;
  return false;
}

// A formula that gives its one input back, without a change of dtype.
bool is_plain_copy(const Pointwise& body, std::span<View* const> inputs, std::span<View* const> written) {
  return inputs.size() == 1 && written.size() == 1 && body.formula.outputs[0].kind() == Expr::Kind::kInput &&
         inputs[0]->dtype() == written[0]->dtype() && inputs[0]->storage() != written[0]->storage();
}

PointwiseTypes types_of(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs) {
  DTypes dtypes;
  for (const NDArray& input : inputs) dtypes.push_back(input.dtype());
  return op.pointwise->types(op.shown_name(), {dtypes.data(), dtypes.size()}, attrs);
}

double cost_of(const OpDef& op, ComputeType type, int64_t elements) {
  return cost_ns(op.pointwise->program(type), elements);
}

// The array whose order of axes the results take: all inputs that are not broadcast are packed in this one order, which
// is not row-major. Null: the results are row-major.
const View* layout_model(std::span<const NDArray> inputs, const Shape& space) {
  const View* model = nullptr;
  for (const NDArray& input : inputs) {
    const View& view = *input.view();
    if (view.shape() != space) continue;
    if (view.is_contiguous() || (model && view.strides() != model->strides())) return nullptr;
    model = &view;
  }
  return model && is_dense(space, model->strides()) ? model : nullptr;
}

bool run_flat(const Program& program, std::span<View* const> inputs, std::span<View* const> written,
              std::span<const double> parameters) {
  const DType dtype = dtype_of(program.compute_type());
  SmallVector<void*, kMaxOperands> data;
  for (const std::span<View* const> views : {inputs, written}) {
    for (const View* view : views) {
      if (view->dtype() != dtype) return false;
      data.push_back(view->data());
    }
  }
  return run_packed(program, written[0]->size(), {data.data(), data.size()}, parameters);
}

}  // namespace

void broadcast_strides(const Shape& shape, const Strides& own, const Shape& space, int64_t* strides) {
  size_t lead = space.size() - shape.size();
  for (size_t i = 0; i < space.size(); ++i) {
    if (i < lead)
      strides[i] = 0;
    else
      strides[i] = shape[i - lead] == 1 && space[i] != 1 ? 0 : own[i - lead];
  }
}

bool is_flat(std::span<View* const> inputs, std::span<View* const> written) {
  const View& first = *written[0];
  const bool row_major = first.is_contiguous();
  if (!row_major && !is_dense(first.shape(), first.strides())) return false;
  const auto alike = [&](const View* view) {
    if (row_major) return view->is_contiguous() && (view->shape() == first.shape() || view->size() == first.size());
    return view->shape() == first.shape() && view->strides() == first.strides();
  };
  return std::ranges::all_of(inputs, alike) && std::ranges::all_of(written.subspan(1), alike);
}

PointwiseResult pointwise_result(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs) {
  Shape made;
  const Shape& space = iteration_space(op, inputs, made);
  const View* const model = layout_model(inputs, space);
  return {space, model ? model->strides() : contiguous_strides(space), types_of(op, attrs, inputs)};
}

void invoke_pointwise(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                      std::span<NDArray> outputs) {
  Shape made;
  const Shape& space = iteration_space(op, inputs, made);
  const PointwiseTypes types = types_of(op, *attrs, inputs);
  bool fresh = op.mutates == kNothing;
  const View* const model = layout_model(inputs, space);
  NDArray late;  // an out= that overlaps an input: computed beside it, then copied
  for (NDArray& output : outputs) {
    if (output) {
      check_output(op, output, space, types.result);
      if (can_write_directly(inputs, output)) {
        fresh = false;
        continue;
      }
      late = output;
    }
    const View& first = *inputs[0].view();
    if (model)
      output = NDArray(make_view(space, types.result, first.storage()->device(), model->strides()));
    else
      output = NDArray(&space != &made ? make_view_like(first, types.result)
                                       : make_view(space, types.result, inputs[0].device()));
  }
  const int64_t elements = (outputs.empty() ? inputs[0] : outputs[0]).view()->size();
  push_call(op, attrs, inputs, outputs,
            {.cost_ns = cost_of(op, types.compute, elements),
             .fresh = fresh,
             .ticket = static_cast<uint64_t>(types.compute)});
  if (late) {
    copy_into(late, outputs[0]);
    outputs[0] = late;
  }
}

void run_pointwise(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                   std::span<View* const> outputs) {
  const Pointwise& body = *op.pointwise;
  SmallVector<View*, kMaxOperands> all_written;
  std::span<View* const> written = outputs;
  if (!body.state_inputs.empty()) {
    all_written.assign(outputs.begin(), outputs.end());
    for (uint32_t state : body.state_inputs) all_written.push_back(inputs[state]);
    written = {all_written.data(), all_written.size()};
  }
  SmallVector<double, 8> parameters;
  append_parameters(body, attrs, parameters);
  const Program& program = body.program(compute, {parameters.data(), parameters.size()});
  const bool flat = is_flat(inputs, written);
  begin_writes(inputs, outputs, flat);  // arrays that are not flat may need memory for copies, which can fail
  if (flat && run_flat(program, inputs, written, parameters)) return;

  const Shape& space = written[0]->shape();
  if (!flat && is_plain_copy(body, inputs, written)) {
    Strides from(space.size());
    broadcast_strides(inputs[0]->shape(), inputs[0]->strides(), space, from.data());
    strided_copy(written[0]->data(), written[0]->strides(), inputs[0]->data(), from, space, inputs[0]->dtype());
    return;
  }
  const Shape line{written[0]->size()};  // one dimension does for flat arrays
  const size_t ndim = flat ? 1 : space.size();
  static constexpr int64_t kOne = 1;
  SmallVector<int64_t, 48> strides;
  if (!flat) strides.resize(ndim * (inputs.size() + written.size()));
  Operand operands[kMaxOperands];
  size_t count = 0;
  auto add = [&](void* data, DType dtype, const Shape& shape, const Strides& own) {
    const int64_t* steps = &kOne;
    if (!flat) {
      broadcast_strides(shape, own, space, strides.data() + ndim * count);
      steps = strides.data() + ndim * count;
    }
    operands[count++] = {data, dtype, steps};
  };
  PackedCopies packed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const View& view = *inputs[i];
    const bool also_written =
        std::ranges::any_of(written, [&](const View* w) { return w->storage() == view.storage(); });
    if (!flat && !also_written && is_scattered(view)) {
      const Tensor copy = packed.pack(view);
      add(copy.data, copy.dtype, copy.shape, copy.strides);
    } else {
      add(view.data(), view.dtype(), view.shape(), view.strides());
    }
  }
  for (const View* view : written) add(view->data(), view->dtype(), view->shape(), view->strides());
  std::span<const Operand> all(operands, count);
  run(program, flat ? line : space, all.first(inputs.size()), all.subspan(inputs.size()), parameters);
}

}  // namespace headrace
