#include "op/invoke.h"

#include <algorithm>

#include "base/check.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "ndarray/strided_copy.h"
#include "op/call_body.h"
#include "op/invoke_stored.h"
#include "op/kernel.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "op/trace.h"
#include "timeline/timeline.h"

namespace headrace {

const char* KernelContext::name() const noexcept { return op_.shown_name(); }

size_t output_count(const OpDef& op, const Attrs& attrs) {
  if (!op.output_count) return op.outputs;
  constexpr size_t kMostOutputs = size_t{1} << 20;
  const size_t count = op.output_count(attrs);
  check(count <= kMostOutputs, ErrorKind::kValue, "{}: {} results were asked for; at most {} are possible",
        op.shown_name(), static_cast<int64_t>(count), kMostOutputs);
  return count;
}

namespace {

// What the timeline calls an operation: one that code of a custom operator issues bears the name of that, too.
const char* recorded_name(const OpDef& op) {
  const char* const issuer = thread_state().issuer;
  return issuer ? timeline::intern(fmt::format("{}::{}", issuer, op.name)) : op.name.c_str();
}

}  // namespace

namespace dispatch_detail {

void check_output(const OpDef& op, const NDArray& given, const Shape& shape, DType dtype) {
  check(given.shape() == shape, ErrorKind::kValue, "{}: out has shape {}, but the result has shape {}", op.shown_name(),
        to_string(given.shape()), to_string(shape));
  check(given.dtype() == dtype, ErrorKind::kType, "{}: out holds {}, but the result is {}; give an out of that dtype",
        op.shown_name(), dtype_name(given.dtype()), dtype_name(dtype));
}

void check_not_on_tape(const OpDef& op, std::span<const NDArray> outputs) {
  if (!thread_state().recording) return;
  for (const NDArray& output : outputs) {
    if (!output) continue;
    const uint32_t tape = output.view()->tape();
    const bool is_read = tape != 0 && tape == thread_state().tape;
    check(!place_on_tape(output) && !is_read, ErrorKind::kRuntime,
          "{}: Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd: the array "
          "already belongs to a computational graph. Write x = x + y in the place of x += y, call backward first, or "
          "write outside of autograd.record()",
          op.shown_name());
  }
}

void keep_from_writes(const NDArray& input) noexcept {
  if (!place_on_tape(input)) input.view()->set_tape(thread_state().tape);
}

void record(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  if (!thread_state().recording) return;
  bool reaches_leaf = false;
  for (const NDArray& input : inputs) reaches_leaf |= place_on_tape(input) != nullptr;
  if (!reaches_leaf) return;
  uint32_t saves_inputs = op.saves_inputs, saves_outputs = op.saves_outputs;
  if (op.pointwise) {
    const auto& gradients = op.pointwise->gradients(op);
    saves_inputs = gradients.saves_inputs;
    saves_outputs = gradients.saves_outputs;
  }
  NodePtr node(new Node);
  node->op = &op;
  node->attrs = attrs;
  node->inputs.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool saved = i < 32 ? (saves_inputs >> i) & 1u : saves_inputs != kNothing;
    NDArray kept = saved || !inputs[i] ? inputs[i] : abstract_of(inputs[i]);
    kept.set_node({}, 0);
    if (place_on_tape(inputs[i]))
      kept.set_node(inputs[i].node(), inputs[i].output_index());
    else if (saved && inputs[i])
      keep_from_writes(inputs[i]);
    node->inputs.push_back(std::move(kept));
  }
  node->outputs.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    bool saved = i < 32 && ((saves_outputs >> i) & 1u);
    if (saved)
      node->outputs.push_back(outputs[i].view());
    else if (outputs.size() > 1)
      node->outputs.push_back(abstract_of(outputs[i]).view());
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].set_node(node, static_cast<uint32_t>(i));
}

void push_call(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
               std::span<const NDArray> outputs, const PushOptions& options) {
  SmallVector<View*, 8> views;
  SmallVector<Var*, 8> reads, writes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    View* view = inputs[i].view().get();
    views.push_back(view);
    (op.mutates_input(i) ? writes : reads).push_back(&view->storage()->var());
  }
  for (const NDArray& output : outputs) {
    View* view = output.view().get();
    views.push_back(view);
    Var* const var = &view->storage()->var();
    writes.push_back(var);
    // A write of a part does not make up for an earlier error in the rest: it keeps the error, as a reader does.
    if (!options.fresh && !view->covers_storage()) reads.push_back(var);
  }
  if (options.resource) writes.push_back(options.resource);
  const std::span<View* const> all(views.data(), views.size());
  const double cost = options.cost_ns < 0 ? streaming_cost_ns(all) : options.cost_ns;
  runtime().engine.push(
      TaskSpec{.name = recorded_name(op),
               .reads = {reads.data(), reads.size()},
               .writes = {writes.data(), writes.size()},
               .cost_ns = cost,
               .priority = thread_state().priority,
               .urgency = thread_state().urgency,
               .fresh_writes = options.fresh && !options.resource && op.mutates == kNothing,
               .keeps = !options.fresh && thread_state().keeps,
               .stream = compute_stream(views.back()->storage()->device()),
               .flops = options.flops,
               .bytes = runtime().engine.observer() ? total_bytes(all) : 0},
      [&] { run_call(op, *attrs, all.first(inputs.size()), all.subspan(inputs.size()), options.ticket); },
      [&] { return CallBody(op, *attrs, all.first(inputs.size()), all.subspan(inputs.size()), options.ticket); });
}

}  // namespace dispatch_detail

namespace {

using namespace dispatch_detail;

Device device_of(std::span<const NDArray> inputs) {
  for (const NDArray& input : inputs)
    if (input && input.view()->storage()) return input.device();
  return thread_state().device;
}

bool is_traced(std::span<const NDArray> inputs) noexcept {
  if (inputs.empty()) return thread_state().tracing;
  return std::ranges::any_of(inputs, [](const NDArray& input) { return !input.view()->storage(); });
}

[[noreturn]] void fail_without(const OpDef& op, size_t input) {
  fail(ErrorKind::kType, "{}: input {} is missing", op.shown_name(),
       op.variadic ? std::to_string(input) : op.inputs[input]);
}

// All arrays of a call are on one device; places of the host count as one.
[[gnu::noinline]] void check_devices(const OpDef& op, std::span<const NDArray> inputs,
                                     std::span<const NDArray> outputs) {
  if (inputs.empty()) return;
  const Device first = inputs[0].device();
  const auto check_one = [&](const NDArray& array, const char* what, size_t i) {
    if (!array) return;
    const Device device = array.device();
    if (device == first || (device.is_host() && first.is_host())) [[likely]]
      return;
    fail(ErrorKind::kRuntime,
         "{}: all arrays must be on the same device, but input 0 is on {} and {} {} on {}; copy with as_in_context",
         op.shown_name(), to_string(first), what, i, to_string(device));
  };
  for (size_t i = 1; i < inputs.size(); ++i) check_one(inputs[i], "input", i);
  for (size_t i = 0; i < outputs.size(); ++i) check_one(outputs[i], "out", i);
}

// Whether all arrays have values, stored element by element. Raises what is wrong with the call.
bool check_call(const OpDef& op, std::span<const NDArray> inputs, std::span<const NDArray> outputs) {
  const size_t least = op.inputs.size() - op.optional_inputs - (op.variadic ? 1 : 0);
  check(inputs.size() >= least && (op.variadic || inputs.size() <= op.inputs.size()), ErrorKind::kType,
        "{}: {} array(s) are needed, got {}", op.shown_name(), least, inputs.size());
  bool is_plain = true, has_out = false;
  for (const NDArray& input : inputs) {
    if (!input) [[unlikely]]
      fail_without(op, static_cast<size_t>(&input - inputs.data()));
    is_plain &= input.view()->is_plain();
  }
  for (const NDArray& output : outputs) {
    if (!output) continue;
    is_plain &= output.view()->is_plain();
    has_out = true;
  }
  if (inputs.size() + has_out > 1 && (is_plain || !is_traced(inputs))) check_devices(op, inputs, outputs);
  if (has_out) check_not_on_tape(op, outputs);
  return is_plain;
}

void invoke_kernel(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                   std::span<NDArray> outputs) {
  Infer infer(op, inputs);
  op.infer(infer, *attrs);
  const auto& types = infer.outputs();
  Device device = infer.device() ? *infer.device() : device_of(inputs);
  bool fresh = true;
  std::vector<NDArray> late;  // given outputs that the kernel cannot write directly
  SmallVector<uint32_t, 8> late_index;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) {
      check_output(op, outputs[i], types[i].shape, types[i].dtype);
      bool direct = outputs[i].strides() == types[i].strides ||
                    (outputs[i].is_contiguous() && is_contiguous(types[i].shape, types[i].strides));
      for (const NDArray& input : inputs) direct &= !overlaps(*input.view(), *outputs[i].view());
      if (direct) {
        fresh = false;
        continue;
      }
      late.push_back(outputs[i]);
      late_index.push_back(static_cast<uint32_t>(i));
    }
    outputs[i] = NDArray(make_view(types[i].shape, types[i].dtype, device, types[i].strides));
  }
  push_call(op, attrs, inputs, outputs,
            {.cost_ns = infer.cost(),
             .flops = infer.flops(),
             .fresh = fresh,
             .resource = infer.resource(),
             .ticket = infer.ticket()});
  for (size_t k = 0; k < late.size(); ++k) {
    copy_into(late[k], outputs[late_index[k]]);
    outputs[late_index[k]] = late[k];
  }
}

bool invoke_view(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  if (outputs[0]) return false;
  const View& view = *inputs[0].view();
  Geometry in{view.shape(), view.strides(), view.offset()}, out;
  if (!op.as_view(in, out, *attrs)) return false;
  outputs[0] = view_of(inputs[0], out);
  return true;
}

// Results that are still to be given, and are views of what is about to be written, get memory of their own.
void keep_apart(std::span<NDArray> results, const NDArray& written) {
  for (NDArray& result : results)
    if (result && result.view()->storage() && overlaps(*result.view(), *written.view()))
      result = call("_copy", {result});
}

void invoke_compose(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                    std::span<NDArray> outputs) {
  std::vector<NDArray> results;
  if (op.gradient) {
    const ThreadStateScope scope(kWithoutRecording);
    results = op.compose(inputs, *attrs);
    for (NDArray& result : results) result = result.off_tape();
  } else {
    results = op.compose(inputs, *attrs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) {
      check_output(op, outputs[i], results[i].shape(), results[i].dtype());
      keep_apart(std::span(results).subspan(i + 1), outputs[i]);
      copy_into(outputs[i], results[i]);
      if (!op.gradient && results[i].node()) outputs[i].set_node(results[i].node(), results[i].output_index());
    } else {
      outputs[i] = std::move(results[i]);
    }
  }
}

}  // namespace

void invoke(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  const bool is_plain = check_call(op, inputs, outputs);
  if ((!is_plain || inputs.empty()) && is_traced(inputs)) [[unlikely]]
    return trace_call(op, attrs, inputs, outputs);
  if ((!is_plain || op.makes_sparse) && !op.open && invoke_stored(op, attrs, inputs, outputs)) [[unlikely]]
    return;
  if (op.pointwise) {
    invoke_pointwise(op, attrs, inputs, outputs);
  } else if (op.compose) {
    invoke_compose(op, attrs, inputs, outputs);
    if (!op.gradient) return;
  } else if (!(op.as_view && invoke_view(op, attrs, inputs, outputs))) {
    invoke_kernel(op, attrs, inputs, outputs);
  }
  record(op, attrs, inputs, outputs);  // without a gradient too: backward then says which operator has none
}

std::vector<NDArray> invoke_all(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs) {
  std::vector<NDArray> outputs(output_count(op, *attrs));
  invoke(op, attrs, inputs, outputs);
  return outputs;
}

NDArray call(const OpDef& op, const AttrsPtr& attrs, std::initializer_list<NDArray> inputs) {
  size_t count = output_count(op, *attrs);
  if (count == 1) {
    NDArray output;
    invoke(op, attrs, {inputs.begin(), inputs.size()}, {&output, 1});
    return output;
  }
  return invoke_all(op, attrs, {inputs.begin(), inputs.size()})[0];
}

AttrsPtr attrs_of(const OpDef& op, std::initializer_list<NamedAttr> attrs) {
  if (attrs.size() == 0) return op.default_attrs;
  IntrusivePtr<Attrs> made = op.make_attrs();
  for (const NamedAttr& attr : attrs) {
    const FieldInfo* field = op.schema->find(attr.name);
    check(field != nullptr, ErrorKind::kType, "{}: there is no argument named '{}'", op.shown_name(), attr.name);
    field->set(made->mutable_data(), attr.value, *field, op.shown_name());
  }
  return AttrsPtr(made.get());
}

NDArray call(std::string_view name, std::initializer_list<NDArray> inputs, std::initializer_list<NamedAttr> attrs) {
  const OpDef& op = find_op(name);
  return call(op, attrs_of(op, attrs), inputs);
}

NDArray view_of(const NDArray& array, const Geometry& geometry) {
  const View& view = *array.view();
  if (view.storage()) storage_of(view, "view");
  return NDArray(
      ViewPtr(new View(view.storage_ptr(), view.dtype(), geometry.shape, geometry.strides, geometry.offset)));
}

}  // namespace headrace
