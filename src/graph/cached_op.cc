#include "graph/cached_op.h"

#include <algorithm>
#include <mutex>

#include "autograd/autograd.h"
#include "base/check.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "graph/evaluate.h"
#include "graph/nodes.h"
#include "graph/passes.h"
#include "graph/traced_call.h"
#include "op/call_body.h"
#include "op/gradient.h"
#include "op/kernel_table.h"
#include "op/trace.h"

namespace headrace {

// The compiled graphs for one kind of call.
struct CachedOp::Compiled {
  Compiled(const Symbol& graph, std::vector<bool> is_wanted, bool trains)
      : symbol(graph), wanted(std::move(is_wanted)), training(trains) {}

  const Symbol symbol;
  const std::vector<bool> wanted;  // gradients of which inputs; empty: of none
  const bool training;
  bool is_dynamic = false;       // it runs operator by operator: it asks for values, or has no gradient
  bool starts_gradient = false;  // of a part that is a loss
  std::unique_ptr<const CompiledGraph> forward;
  std::vector<ViewPtr> output_types;
  std::vector<ViewPtr> types;  // of inputs and outputs, for the tape

  // With gradients: the inputs of the backward graph are, in this order, the gradients of the outputs, then these.
  std::unique_ptr<const CompiledGraph> backward;
  std::vector<int> kept;             // values of the forward graph
  std::vector<size_t> from_inputs;   // the call's inputs
  std::vector<size_t> from_outputs;  // the call's outputs
  std::vector<size_t> gradient_of;   // which input each output of the backward graph is the gradient of

  size_t value_count() const {
    return (forward ? forward->graph().values.size() : 0) + (backward ? backward->graph().values.size() : 0);
  }
};

namespace {

// Of what the heads depend on, or of a body of control flow in it.
bool has_losses(std::span<const NDArray> heads) {
  return std::ranges::any_of(topological_order(heads), [](const Node* node) {
    if (node->op && node->op->starts_gradient) return true;
    return node->label &&
           std::ranges::any_of(node->label->subgraphs, [](const auto& body) { return has_losses(body); });
  });
}

constexpr size_t kMostKinds = 256;  // of calls that are remembered
// Backward goes in parts, so that gradients can travel while later ones are computed; a part is worth many tasks.
constexpr double kSegmentNs = 1e6;

bool has_gradient(const NDArray& array) { return static_cast<bool>(array.node()); }

// Whether the array, or the gradient that a backward is to write, is stored otherwise than element by element.
bool is_sparse(const NDArray& array) {
  const auto is = [](const NDArray& one) { return one && one.storage_kind() != StorageKind::kDense; };
  return is(array) || (thread_state().recording && array.node() && is(array.node()->gradient));
}

// Whether the device's own code computes the operator.
bool has_kernel(Device device, const char* name) {
  const KernelTable* const table = kernels_of(device.type);
  return !table || (table->find(find_op(name)) && !table->is_on_host(find_op(name)));
}

// Where a call runs and its results are: where its inputs are.
Device device_of(std::span<const NDArray> inputs) {
  return inputs.empty() ? thread_state().device : inputs[0].device();
}

// Compiled graphs are the same on all places of the host, since those share its memory.
int64_t memory_of(Device device) { return device.is_host() ? -1 : device.id; }

// Everything on which a compiled graph depends, number by number, as long as `take` gives true. Gives whether it always
// did.
template <class Take>
bool each_of_signature(std::span<const NDArray> inputs, bool training, bool recording, Take take) {
  if (!take(training) || !take(recording) || !take(memory_of(device_of(inputs)))) return false;
  for (const NDArray& input : inputs) {
    if (!take(static_cast<int64_t>(input.dtype()) * 2 + (recording && has_gradient(input)))) return false;
    const Shape& shape = input.shape();
    if (!take(static_cast<int64_t>(shape.size()))) return false;
    for (size_t k = 0; k < shape.size(); ++k)
      if (!take(shape[k]) || !take(input.strides()[k])) return false;
  }
  return true;
}

std::vector<int64_t> signature_of(std::span<const NDArray> inputs, bool training, bool recording) {
  std::vector<int64_t> key;
  each_of_signature(inputs, training, recording, [&](int64_t number) {
    key.push_back(number);
    return true;
  });
  return key;
}

bool has_signature(std::span<const NDArray> inputs, bool training, bool recording, const std::vector<int64_t>& key) {
  auto next = key.begin();
  return each_of_signature(inputs, training, recording,
                           [&](int64_t number) { return next != key.end() && *next++ == number; }) &&
         next == key.end();
}

// What the segments of one run share.
struct GraphRun {
  std::shared_ptr<const CompiledGraph> compiled;
  ViewList views;  // inputs, then outputs
  size_t input_count;
  StoragePtr kept, scratch;
  CompiledGraph::Scratch kind;
  SmallVector<uint64_t, 4> tickets;
};
const GraphRun& run_of(const GraphRun& run) { return run; }
const GraphRun& run_of(const std::shared_ptr<const GraphRun>& run) { return *run; }

// A segment as a task, which has the run for itself or shares it.
template <class Run>
struct GraphTask {
  Run own_run;
  const CompiledGraph::Segment* segment;

  void operator()() const {
    const GraphRun& run = run_of(own_run);
    const std::span<View* const> all = run.views.views();
    run.compiled->run_segment(*segment, all.first(run.input_count), all.subspan(run.input_count), run.kept.get(),
                              {run.tickets.data(), run.tickets.size()}, run.scratch, run.kind);
  }
};

// `over_inputs`: the block of inputs whose place intermediate values may take; null: they get memory of their own.
void push_graph(const char* name, std::shared_ptr<const CompiledGraph> compiled, std::span<const NDArray> inputs,
                std::span<const NDArray> outputs, const StoragePtr& kept, Device device,
                const StoragePtr& over_inputs = {}) {
  SmallVector<Var*, 16> reads, writes;
  const auto access = [&](const NDArray& array, bool is_changed) {
    (is_changed ? writes : reads).push_back(&array.view()->storage()->var());
  };
  for (const CompiledGraph::Constant& constant : compiled->constants()) access(constant.array, constant.is_changed);
  if (kept) writes.push_back(&kept->var());
  CompiledGraph::Draws draws = compiled->draw();
  for (Var* resource : draws.resources) writes.push_back(resource);
  const CompiledGraph& steps = *compiled;
  const std::span<const CompiledGraph::Segment> segments = steps.segments();
  StoragePtr scratch = over_inputs ? over_inputs : steps.make_scratch(device);
  // What several tasks use: the segments, and other passes over the same inputs.
  Storage* const common = segments.size() > 1 || over_inputs ? scratch.get() : nullptr;
  const auto kind = over_inputs ? CompiledGraph::Scratch::kOverInputs : CompiledGraph::Scratch::kOwn;
  GraphRun run{std::move(compiled), {}, inputs.size(), kept, std::move(scratch), kind, std::move(draws.tickets)};
  run.views.reserve(inputs.size() + outputs.size());
  for (const NDArray& input : inputs) run.views.add(input.view().get());
  for (const NDArray& output : outputs) run.views.add(output.view().get());
  Stream* const stream = compute_stream(device);
  const auto push = [&](const CompiledGraph::Segment& segment, auto task) {
    for (size_t i : segment.inputs) access(inputs[i], steps.changes_input(i));
    for (size_t k : segment.reads) access(outputs[k], false);
    for (size_t k : segment.writes) access(outputs[k], true);
    if (common && segment.begin > 0) reads.push_back(&common->var());  // after the segment before, and failing with it
    if (common) writes.push_back(&common->var());
    runtime().engine.push(TaskSpec{.name = name,
                                   .reads = {reads.data(), reads.size()},
                                   .writes = {writes.data(), writes.size()},
                                   .cost_ns = segment.cost_ns,
                                   .stream = stream,
                                   .flops = segment.flops,
                                   .bytes = segment.bytes},
                          std::move(task));
  };
  if (segments.size() == 1) return push(segments[0], GraphTask<GraphRun>{std::move(run), &segments[0]});
  const auto shared = std::make_shared<const GraphRun>(std::move(run));
  const size_t read_count = reads.size(), write_count = writes.size();
  for (const CompiledGraph::Segment& segment : segments) {
    push(segment, GraphTask<std::shared_ptr<const GraphRun>>{shared, &segment});
    reads.resize(read_count);
    writes.resize(write_count);
  }
}

NDArray make_array(const View& type, Device device) {
  return NDArray(make_view(type.shape(), type.dtype(), device, type.strides()));
}

// The same array on another device; it lies there as it does here.
NDArray moved_to(Device device, const NDArray& array) {
  const View& view = *array.view();
  const NDArray memory(
      ViewPtr(new View(view.storage_ptr(), DType::kUint8, {static_cast<int64_t>(view.storage()->bytes())})));
  const NDArray there = copied_to(memory, device);
  return NDArray(
      ViewPtr(new View(there.view()->storage_ptr(), view.dtype(), view.shape(), view.strides(), view.offset())));
}

// Arrays that are part of the graph lie where it runs.
void move_constants(Lowered& graph, Device device) {
  std::vector<uint8_t> is_changed(graph.values.size());
  for (const Step& step : graph.steps)
    for (int root : graph.changed_by(step)) is_changed[static_cast<size_t>(root)] = true;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    NDArray& constant = graph.values[i].constant;
    if (!constant || !needs_device_copy(device, constant.device())) continue;
    check(!is_changed[i], ErrorKind::kRuntime,
          "CachedOp: the graph runs on {} and changes an array on {}; make the array a parameter of the block, which "
          "has a replica on each device",
          to_string(device), to_string(constant.device()));
    constant = moved_to(device, constant);
  }
}

}  // namespace

CachedOp::CachedOp(Symbol symbol, Options options)
    : symbol_(std::move(symbol)), options_(options), variables_(inputs_of(symbol_.outputs()).all) {
  check(static_cast<bool>(symbol_), ErrorKind::kValue, "CachedOp: the symbol has no outputs");
}

CachedOp::~CachedOp() = default;

std::vector<NDArray> CachedOp::operator()(std::span<const NDArray> inputs) {
  check(inputs.size() == variables_.size(), ErrorKind::kRuntime, "CachedOp: {} inputs are needed, got {}",
        variables_.size(), inputs.size());
  bool one_by_one = thread_state().tracing;  // as are sparse arrays, which compiled graphs do not hold
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(static_cast<bool>(inputs[i]), ErrorKind::kRuntime, "CachedOp: input {} is missing",
          variables_[i]->label->name);
    one_by_one |= is_abstract(inputs[i]) || is_sparse(inputs[i]);
  }
  if (one_by_one) return run_eagerly(inputs);
  check_places(inputs);
  if (!options_.compile) return run_eagerly(inputs);
  const std::shared_ptr<const Compiled> compiled = compiled_for(inputs);
  return compiled->is_dynamic ? run_eagerly(inputs) : run_compiled(compiled, inputs);
}

void CachedOp::check_places(std::span<const NDArray> inputs) const {
  const Device first = device_of(inputs);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Device own = inputs[i].device();
    if (needs_device_copy(own, first)) [[unlikely]]
      fail(ErrorKind::kRuntime,
           "CachedOp requires all inputs to live on the same context. But {} is on {} while {} is on {}; copy one of "
           "them with as_in_context()",
           variables_[0]->label->name, to_string(first), variables_[i]->label->name, to_string(own));
  }
}

std::vector<NDArray> CachedOp::run_eagerly(std::span<const NDArray> inputs) const {
  Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) bindings.emplace(variables_[i], inputs[i]);
  const ThreadStateScope scope([&](ThreadState& state) { state.device = device_of(inputs); });
  return evaluate(symbol_.outputs(), bindings);
}

std::shared_ptr<const CachedOp::Compiled> CachedOp::compiled_for(std::span<const NDArray> inputs) {
  const bool recording = thread_state().recording, training = thread_state().training;
  const bool any = recording && std::any_of(inputs.begin(), inputs.end(), has_gradient);
  {
    std::shared_lock lock(mutex_);
    for (const auto& [known, compiled] : known_)
      if (has_signature(inputs, training, any, known)) return compiled;
  }
  std::vector<bool> wanted;
  for (const NDArray& input : inputs)
    if (any) wanted.push_back(has_gradient(input));
  std::shared_ptr<const Compiled> made = compile(inputs, training, wanted);
  keep(signature_of(inputs, training, any), made);
  return made;
}

void CachedOp::keep(std::vector<int64_t> signature, std::shared_ptr<const Compiled> compiled) {
  std::vector<std::shared_ptr<const Compiled>> dropped;  // goes without the lock
  const std::unique_lock lock(mutex_);
  values_known_ += compiled->value_count();
  known_.emplace(known_.begin(), std::move(signature), std::move(compiled));
  while (known_.size() > kMostKinds || (known_.size() > 1 && values_known_ > options_.most_values)) {
    values_known_ -= known_.back().second->value_count();
    dropped.push_back(std::move(known_.back().second));
    known_.pop_back();
  }
}

size_t CachedOp::kinds_known() {
  const std::shared_lock lock(mutex_);
  return known_.size();
}

std::shared_ptr<const CachedOp::Compiled> CachedOp::compile(std::span<const NDArray> inputs, bool training,
                                                            const std::vector<bool>& wanted) const {
  auto compiled = std::make_shared<Compiled>(symbol_, wanted, training);
  TraceScope scope(training);
  thread_state().device = device_of(inputs);  // the scope of tracing restores it
  std::optional<TracedCall> traced;
  try {
    traced.emplace(trace_call_of(symbol_, inputs, wanted));
  } catch (const ValuesUnknown&) {
    compiled->is_dynamic = true;
    return compiled;
  } catch (const Error&) {
    if (wanted.empty()) throw;
    compiled->is_dynamic = true;  // a gradient that does not exist may never be asked for
    return compiled;
  }
  const std::vector<NDArray>& outputs = traced->outputs;
  compiled->gradient_of = traced->gradient_of;
  std::vector<NDArray> all_inputs = traced->variables, roots = outputs;
  all_inputs.insert(all_inputs.end(), traced->heads.begin(), traced->heads.end());
  roots.insert(roots.end(), traced->gradients.begin(), traced->gradients.end());
  Lowered whole = lower(all_inputs, roots);
  compiled->starts_gradient = has_losses(symbol_.outputs());
  optimize(whole);
  move_constants(whole, device_of(inputs));
  for (const NDArray& variable : traced->variables) compiled->types.push_back(variable.view());
  for (const NDArray& output : outputs) compiled->types.push_back(output.view());
  for (size_t k = 0; k < outputs.size(); ++k)
    compiled->output_types.push_back(whole.values[static_cast<size_t>(whole.outputs[k])].type);
  const bool fusion = config().fusion;
  if (fusion) fuse_batch_norms(whole);
  const bool makes_operators = fusion && !kernels_of(device_of(inputs).type);  // whose code only the host has
  if (wanted.empty()) {
    if (fusion && has_kernel(device_of(inputs), "_fused_convolution")) fuse_convolutions(whole);
    if (fusion) fuse(whole);
    if (makes_operators) fuse_prologues(whole);
    compiled->forward = std::make_unique<const CompiledGraph>(std::move(whole));
    return compiled;
  }
  if (config().recomputation) recompute(whole, outputs.size());
  Halves halves = split(whole, inputs.size(), outputs.size());
  compiled->kept = halves.kept;
  compiled->from_inputs = halves.from_inputs;
  compiled->from_outputs = halves.from_outputs;
  if (fusion) fuse(halves.forward, halves.kept);
  if (makes_operators) fuse_prologues(halves.forward, halves.kept);
  if (fusion) join_products(halves.backward);
  if (fusion) fuse(halves.backward);
  if (makes_operators) fuse_prologues(halves.backward);
  compiled->forward = std::make_unique<const CompiledGraph>(std::move(halves.forward), halves.kept);
  std::vector<CompiledGraph::InputInBlock> block;
  const size_t before = outputs.size() + halves.from_inputs.size() + halves.from_outputs.size();
  for (size_t k = 0; k < halves.kept.size(); ++k)
    block.push_back(compiled->forward->kept_place(halves.kept[k], before + k));
  compiled->backward =
      std::make_unique<const CompiledGraph>(std::move(halves.backward), std::span<const int>(), kSegmentNs, block);
  return compiled;
}

// The gradient of a call.
struct CachedOp::Backward {
  std::shared_ptr<const Compiled> compiled;
  Device device;
  StoragePtr kept;
  std::vector<ViewPtr> given;
  std::vector<NDArray> saved;

  void operator()(Gradient& g) const {
    if (thread_state().recording) return record_gradients(*compiled, given, g);
    const Lowered& graph = compiled->backward->graph();
    std::vector<NDArray> reads, writes;
    reads.reserve(compiled->output_types.size() + saved.size());
    writes.reserve(compiled->gradient_of.size());
    for (size_t k = 0; k < compiled->output_types.size(); ++k) {
      const View& type = *graph.values[static_cast<size_t>(graph.inputs[k])].type;
      if (!g.has_head(k)) {
        reads.push_back(full(type.shape(), 0, type.dtype(), device));
      } else if (g.head(k).storage_kind() == StorageKind::kDense && g.head(k).strides() == type.strides() &&
                 g.head(k).dtype() == type.dtype()) {
        reads.push_back(g.head(k).off_tape());
      } else {
        reads.push_back(make_array(type, device));
        copy_into(reads.back(), g.head(k));
      }
    }
    reads.insert(reads.end(), saved.begin(), saved.end());
    const auto is_read = [&](const NDArray& target) {
      return std::ranges::any_of(reads,
                                 [&](const NDArray& one) { return one.view()->storage() == target.view()->storage(); });
    };
    for (size_t k = 0; k < compiled->gradient_of.size(); ++k) {
      const size_t i = compiled->gradient_of[k];
      const View& type = *graph.values[static_cast<size_t>(graph.outputs[k])].type;
      const NDArray& target = g.target(i);
      const bool fits =
          target && target.dtype() == type.dtype() && target.strides() == type.strides() && !is_read(target);
      writes.push_back(fits ? target.off_tape() : make_array(type, device));
      g.set(i, writes.back());
    }
    push_graph("CachedOp.backward", std::shared_ptr<const CompiledGraph>(compiled, compiled->backward.get()), reads,
               writes, {}, device, g.is_last() ? kept : StoragePtr());
  }
};

std::vector<NDArray> CachedOp::run_compiled(const std::shared_ptr<const Compiled>& compiled,
                                            std::span<const NDArray> inputs) {
  const auto part = [&](const std::unique_ptr<const CompiledGraph>& half) {
    return std::shared_ptr<const CompiledGraph>(compiled, half.get());
  };
  const Device device = device_of(inputs);
  std::vector<NDArray> outputs;
  outputs.reserve(compiled->output_types.size());
  for (const ViewPtr& type : compiled->output_types) outputs.push_back(make_array(*type, device));
  StoragePtr kept;
  if (compiled->backward && compiled->backward->block_bytes() > 0)  // with room for what a last backward computes
    kept = StoragePtr(new Storage(allocator_of(device), device, compiled->backward->block_bytes()));
  push_graph("CachedOp", part(compiled->forward), inputs, outputs, kept, device);
  if (!compiled->backward) return outputs;

  std::vector<NDArray> saved;
  saved.reserve(compiled->from_inputs.size() + compiled->from_outputs.size() + compiled->kept.size());
  for (size_t i : compiled->from_inputs) {
    dispatch_detail::keep_from_writes(inputs[i]);
    saved.push_back(inputs[i].off_tape());
  }
  for (size_t k : compiled->from_outputs) saved.push_back(outputs[k].off_tape());
  for (int id : compiled->kept) saved.push_back(NDArray(compiled->forward->kept_view(id, kept)));
  std::vector<ViewPtr> given;  // what gradients of higher order start from
  given.reserve(inputs.size());
  for (const NDArray& input : inputs) given.push_back(input.view());
  autograd::record_node(inputs, outputs, Backward{compiled, device, kept, std::move(given), std::move(saved)},
                        compiled->types);
  if (Node* const node = outputs[0].node().get()) node->starts_gradient = compiled->starts_gradient;
  return outputs;
}

const Symbol* CachedOp::symbol_of_call(const Node& node) noexcept {
  const Backward* const call = node.custom.target<Backward>();
  return call ? &call->compiled->symbol : nullptr;
}

// The gradients as operations of the tape: what is differentiated again cannot be one step. The forward half is run
// again as far as they need it, on copies of what it changes.
void CachedOp::record_gradients(const Compiled& compiled, std::span<const ViewPtr> given, Gradient& g) {
  std::vector<NDArray> inputs, heads;
  for (size_t i = 0; i < given.size(); ++i) {
    NDArray input(given[i]);
    if (compiled.forward->changes_input(i)) input = call("_copy", {input});
    const NDArray& place = g.input(i);
    if (place.node()) input.set_node(place.node(), place.output_index());
    inputs.push_back(std::move(input));
  }
  for (size_t k = 0; k < compiled.output_types.size(); ++k) {
    const View& type = *compiled.output_types[k];
    heads.push_back(g.has_head(k) ? g.head(k) : full(type.shape(), 0, type.dtype(), device_of(inputs)));
  }
  std::vector<NDArray> gradients =
      gradients_of_call(compiled.symbol, inputs, heads, compiled.wanted, compiled.training);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) g.set(i, std::move(gradients[i]));
}

std::vector<bool> CachedOp::reads_head_gradients(std::span<const NDArray> inputs) {
  const std::shared_ptr<const Compiled> compiled = compiled_for(inputs);
  std::vector<bool> reads(symbol_.size(), false);
  if (!compiled->backward) return reads;
  const Lowered& graph = compiled->backward->graph();
  const auto read = [&](int id) {
    if (id < 0) return;
    const int root = graph.values[static_cast<size_t>(id)].root;
    for (size_t k = 0; k < reads.size(); ++k)
      if (graph.inputs[k] == root) reads[k] = true;
  };
  for (const Step& step : graph.steps)
    for (int id : step.inputs) read(id);
  for (int id : graph.outputs) read(id);
  return reads;
}

std::string CachedOp::explain(std::span<const NDArray> inputs) {
  const std::shared_ptr<const Compiled> compiled = compiled_for(inputs);
  if (compiled->is_dynamic)
    return "The graph asks for values while it runs, or has no gradient: its operators run one by one.\n";
  std::string text = "forward\n" + explain_graph(*compiled->forward);
  size_t bytes = compiled->forward->scratch_bytes();
  if (const CompiledGraph* const backward = compiled->backward.get()) {
    text += "backward\n" + explain_graph(*backward);
    bytes += backward->block_bytes() > 0 ? backward->block_bytes() : backward->scratch_bytes();
  }
  return text + fmt::format("Total {} MB allocated\n", bytes >> 20);
}

}  // namespace headrace
