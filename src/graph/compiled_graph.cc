#include "graph/compiled_graph.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <iterator>
#include <set>
#include <utility>

#include "device/registry.h"
#include "graph/memory.h"
#include "op/call_body.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

// An array without elements has a place too: kernels ask for its address.
int64_t bytes_of(const View& type) {
  return std::max<int64_t>(1, type.size() * static_cast<int64_t>(item_size(type.dtype())));
}

double cost_of(const Step& step) { return step.cost_ns + (step.is_view ? 0 : 100); }

// Whether the step may write its first result over its input `k`: it reads each element before it writes it.
bool can_overwrite(const Lowered& graph, const Step& step, size_t k) {
  if (!step.op->pointwise || step.outputs.size() != 1) return false;
  // Another look at the same memory may read an element after it was written.
  for (int id : step.inputs)
    if (id != step.inputs[k] && graph.values[static_cast<size_t>(id)].root == step.inputs[k]) return false;
  const View& in = *graph.values[static_cast<size_t>(step.inputs[k])].type;
  const View& out = *graph.values[static_cast<size_t>(step.outputs[0])].type;
  return graph.values[static_cast<size_t>(step.inputs[k])].root == step.inputs[k] && in.shape() == out.shape() &&
         in.strides() == out.strides() && in.dtype() == out.dtype();
}

constexpr size_t kNone = static_cast<size_t>(-1);

// By value: the number of the input or output that it is or is a view of; kNone: of none.
std::vector<size_t> places_among(const Lowered& graph, std::span<const int> ids) {
  std::vector<size_t> own(graph.values.size(), kNone), places;
  for (size_t k = 0; k < ids.size(); ++k)
    if (ids[k] >= 0) own[static_cast<size_t>(ids[k])] = k;
  for (const Value& value : graph.values) places.push_back(own[static_cast<size_t>(value.root)]);
  return places;
}

// Read and written.
double bytes_of(const Lowered& graph, const Step& step) {
  double bytes = 0;
  const auto add = [&](int id) {
    const View& type = *graph.values[static_cast<size_t>(id)].type;
    bytes += static_cast<double>(type.size()) * static_cast<double>(item_size(type.dtype()));
  };
  std::ranges::for_each(step.inputs, add);
  std::ranges::for_each(step.outputs, add);
  return bytes;
}

// What a segment looks at and changes, while it grows.
struct Accesses {
  std::set<size_t> inputs, reads, writes;

  void move_to(CompiledGraph::Segment& segment) {
    segment.inputs.assign(inputs.begin(), inputs.end());
    segment.writes.assign(writes.begin(), writes.end());
    std::ranges::set_difference(reads, writes, std::back_inserter(segment.reads));
    *this = {};
  }
};

}  // namespace

CompiledGraph::CompiledGraph(Lowered graph, std::span<const int> kept, double segment_ns,
                             std::span<const InputInBlock> block)
    : graph_(std::move(graph)) {
  for (size_t i = 0; i < graph_.steps.size(); ++i) {
    cost_ns_ += cost_of(graph_.steps[i]);
    if (graph_.steps[i].op->is_random) random_steps_.push_back(i);
    labels_.push_back(timeline::intern(graph_.steps[i].op->name));
  }
  find_changes();
  const std::vector<uint8_t> is_scratch = place_values(kept);
  own_ = lay_out(is_scratch, {});
  if (!block.empty()) overwriting_ = lay_out(is_scratch, block);
  cut(segment_ns);
  find_recurrences();
}

void CompiledGraph::cut(double segment_ns) {
  const std::vector<size_t> input_of = places_among(graph_, graph_.inputs),
                            output_of = places_among(graph_, graph_.outputs);
  std::vector<size_t> completed_by(graph_.outputs.size(), kNone);
  const auto each_written = [&](const Step& step, auto&& take) {
    for (int id : step.outputs)
      if (const size_t k = output_of[static_cast<size_t>(id)]; k != kNone) take(k);
    for (int root : graph_.changed_by(step))
      if (const size_t k = output_of[static_cast<size_t>(root)]; k != kNone) take(k);
  };
  for (size_t s = 0; s < graph_.steps.size(); ++s)
    each_written(graph_.steps[s], [&](size_t k) { completed_by[k] = s; });

  double left = cost_ns_;
  Segment segment{};
  Accesses accesses;
  const auto close = [&](size_t end) {
    segment.end = end;
    accesses.move_to(segment);
    segments_.push_back(std::exchange(segment, {.begin = end}));
  };
  for (size_t s = 0; s < graph_.steps.size(); ++s) {
    const Step& step = graph_.steps[s];
    bool completes = false;
    each_written(step, [&](size_t k) {
      accesses.writes.insert(k);
      completes |= completed_by[k] == s;
    });
    for (int id : step.inputs) {
      if (const size_t k = input_of[static_cast<size_t>(id)]; k != kNone) accesses.inputs.insert(k);
      if (const size_t k = output_of[static_cast<size_t>(id)]; k != kNone) accesses.reads.insert(k);
    }
    segment.cost_ns += cost_of(step);
    if (!step.is_view) {
      segment.flops += step.flops;
      segment.bytes += bytes_of(graph_, step);
    }
    left -= cost_of(step);
    if (completes && segment.cost_ns >= segment_ns && left >= segment_ns) close(s + 1);
  }
  close(graph_.steps.size());
}

// What a segment does follows from where its arrays lie, unless it draws random numbers.
void CompiledGraph::find_recurrences() {
  for (Segment& segment : segments_) {
    const auto draw = std::ranges::lower_bound(random_steps_, segment.begin);
    if (draw == random_steps_.end() || *draw >= segment.end) segment.recurrence = std::make_shared<Recurrence>();
  }
}

void CompiledGraph::find_changes() {
  std::vector<uint8_t> is_changed(graph_.values.size());
  for (const Step& step : graph_.steps)
    for (int root : graph_.changed_by(step)) is_changed[static_cast<size_t>(root)] = true;
  for (int id : graph_.inputs) changes_input_.push_back(is_changed[static_cast<size_t>(id)]);
  for (size_t i = 0; i < graph_.values.size(); ++i)
    if (graph_.values[i].source == Value::Source::kConstant)
      constants_.push_back({graph_.values[i].constant, static_cast<bool>(is_changed[i])});
}

// Gives which roots are scratch.
std::vector<uint8_t> CompiledGraph::place_values(std::span<const int> kept) {
  const size_t count = graph_.values.size();
  places_.resize(count);
  std::vector<uint8_t> is_scratch(count);
  for (size_t i = 0; i < count; ++i) {
    const Value& value = graph_.values[i];
    if (value.source == Value::Source::kConstant) places_[i].home = Home::kConstant;
    is_scratch[i] = value.source == Value::Source::kStep && value.root == static_cast<int>(i);
  }
  for (size_t k = 0; k < graph_.inputs.size(); ++k)
    places_[static_cast<size_t>(graph_.inputs[k])] = {Home::kInput, static_cast<int>(k)};
  for (size_t k = 0; k < graph_.outputs.size(); ++k) {
    if (graph_.outputs[k] < 0) continue;
    places_[static_cast<size_t>(graph_.outputs[k])] = {Home::kOutput, static_cast<int>(k)};
    is_scratch[static_cast<size_t>(graph_.outputs[k])] = false;
  }
  for (int id : kept) {
    const int root = graph_.values[static_cast<size_t>(id)].root;
    if (!is_scratch[static_cast<size_t>(root)]) continue;
    is_scratch[static_cast<size_t>(root)] = false;
    places_[static_cast<size_t>(root)] = {Home::kKept, 0, static_cast<int64_t>(kept_bytes_)};
    kept_bytes_ += static_cast<size_t>(in_slots(bytes_of(*graph_.values[static_cast<size_t>(root)].type)));
  }
  return is_scratch;
}

CompiledGraph::Layout CompiledGraph::lay_out(const std::vector<uint8_t>& is_scratch,
                                             std::span<const InputInBlock> block) const {
  const size_t count = graph_.values.size();
  // Lifetimes of roots; a result that overwrites an input that nobody reads again shares its slot.
  std::vector<int> last_use(count, -1), slot(count, -1);
  for (size_t s = 0; s < graph_.steps.size(); ++s)
    for (int input : graph_.steps[s].inputs)
      last_use[static_cast<size_t>(graph_.values[static_cast<size_t>(input)].root)] = static_cast<int>(s);
  for (int output : graph_.outputs)  // an output that is an input is read at the end
    if (output >= 0) last_use[static_cast<size_t>(graph_.values[static_cast<size_t>(output)].root)] = INT_MAX;
  std::vector<Lifetime> lifetimes;
  for (const InputInBlock& in : block)
    lifetimes.push_back({in.bytes, -1, last_use[static_cast<size_t>(graph_.inputs[in.input])], in.offset});
  for (size_t s = 0; s < graph_.steps.size(); ++s) {
    const Step& step = graph_.steps[s];
    for (int output : step.outputs) {
      const auto id = static_cast<size_t>(output);
      if (!is_scratch[id]) continue;
      const int last = std::max(last_use[id], static_cast<int>(s));
      for (size_t k = 0; k < step.inputs.size() && slot[id] < 0; ++k) {
        const auto input = static_cast<size_t>(step.inputs[k]);
        if (slot[input] < 0 || !is_scratch[input] || last_use[input] != static_cast<int>(s)) continue;
        if (!can_overwrite(graph_, step, k)) continue;
        slot[id] = slot[input];
        lifetimes[static_cast<size_t>(slot[id])].last = last;
      }
      if (slot[id] >= 0) continue;
      slot[id] = static_cast<int>(lifetimes.size());
      lifetimes.push_back({bytes_of(*graph_.values[id].type), static_cast<int>(s), last});
    }
  }
  Layout layout{std::vector<int64_t>(count), static_cast<size_t>(assign_offsets(lifetimes))};
  for (size_t i = 0; i < count; ++i)
    if (slot[i] >= 0) layout.offsets[i] = lifetimes[static_cast<size_t>(slot[i])].offset;
  return layout;
}

CompiledGraph::Draws CompiledGraph::draw() const {
  Draws draws;
  for (size_t s : random_steps_) {
    const Step& step = graph_.steps[s];
    std::vector<NDArray> inputs;
    for (int id : step.inputs) inputs.push_back(NDArray(graph_.values[static_cast<size_t>(id)].type));
    Infer infer(*step.op, inputs);
    step.op->infer(infer, *step.attrs);
    draws.tickets.push_back(infer.ticket());
    if (infer.resource()) draws.resources.push_back(infer.resource());
  }
  return draws;
}

ViewPtr CompiledGraph::view_at(int id, const StoragePtr& block, int64_t offset) const {
  const View& type = *graph_.values[static_cast<size_t>(id)].type;
  return ViewPtr(new View(block, type.dtype(), type.shape(), type.strides(),
                          offset / static_cast<int64_t>(item_size(type.dtype())) + type.offset()));
}

ViewPtr CompiledGraph::kept_view(int id, const StoragePtr& block) const {
  const auto root = static_cast<size_t>(graph_.values[static_cast<size_t>(id)].root);
  return view_at(id, block, places_[root].offset);
}

CompiledGraph::InputInBlock CompiledGraph::kept_place(int id, size_t input) const {
  const auto root = static_cast<size_t>(graph_.values[static_cast<size_t>(id)].root);
  return {input, places_[root].offset, bytes_of(*graph_.values[root].type)};
}

StoragePtr CompiledGraph::make_scratch(Device device) const {
  return own_.bytes > 0 ? StoragePtr(new Storage(allocator_of(device), device, own_.bytes)) : StoragePtr();
}

void CompiledGraph::run(std::span<View* const> inputs, std::span<View* const> outputs, Storage* kept,
                        std::span<const uint64_t> tickets, Device device) const {
  const StoragePtr scratch = make_scratch(device);
  for (const Segment& segment : segments_) run_segment(segment, inputs, outputs, kept, tickets, scratch);
}

// All that runs of a segment may differ in.
std::vector<uint64_t> CompiledGraph::arguments_of(const Segment& segment, std::span<View* const> inputs,
                                                  std::span<View* const> outputs, Storage* kept,
                                                  const StoragePtr& scratch, Scratch kind) const {
  std::vector<uint64_t> words{static_cast<uint64_t>(kind)};
  const auto add_place = [&](const void* address) { words.push_back(std::bit_cast<uint64_t>(address)); };
  const auto add = [&](View& view) {
    add_place(view.data());
    for (const int64_t stride : view.strides()) words.push_back(static_cast<uint64_t>(stride));
  };
  for (const size_t k : segment.inputs) add(*inputs[k]);
  for (const size_t k : segment.reads) add(*outputs[k]);
  for (const size_t k : segment.writes) add(*outputs[k]);
  for (const Constant& constant : constants_) add(*constant.array.view());
  if (kept) add_place(kept->data());
  if (scratch) add_place(scratch->data());
  return words;
}

void CompiledGraph::run_segment(const Segment& segment, std::span<View* const> inputs, std::span<View* const> outputs,
                                Storage* kept, std::span<const uint64_t> tickets, const StoragePtr& scratch,
                                Scratch kind) const {
  const StoragePtr kept_block(kept);
  const Layout& layout = kind == Scratch::kOwn ? own_ : overwriting_;
  std::vector<ViewPtr> made(graph_.values.size());
  const auto view_of = [&](int id) -> View* {
    const auto i = static_cast<size_t>(id);
    const Value& value = graph_.values[i];
    const Value& root = graph_.values[static_cast<size_t>(value.root)];
    const Place& place = places_[static_cast<size_t>(value.root)];
    View* given = nullptr;  // the root, where it is no value of a block
    if (place.home == Home::kInput) given = inputs[static_cast<size_t>(place.index)];
    if (place.home == Home::kOutput) given = outputs[static_cast<size_t>(place.index)];
    if (place.home == Home::kConstant) given = root.constant.view().get();
    if (given && value.root == id) return given;
    if (made[i]) return made[i].get();
    if (given) {
      const View& type = *value.type;
      made[i] = ViewPtr(new View(given->storage_ptr(), type.dtype(), type.shape(), type.strides(),
                                 given->offset() + type.offset() - root.type->offset()));
    } else {
      const bool is_kept = place.home == Home::kKept;
      made[i] =
          is_kept ? kept_view(id, kept_block) : view_at(id, scratch, layout.offsets[static_cast<size_t>(value.root)]);
    }
    return made[i].get();
  };
  const auto run_steps = [&] {
    auto draws = static_cast<size_t>(std::ranges::lower_bound(random_steps_, segment.begin) - random_steps_.begin());
    for (size_t s = segment.begin; s < segment.end; ++s) {
      const Step& step = graph_.steps[s];
      if (step.is_view) continue;
      SmallVector<View*, 8> reads, writes;
      for (int id : step.inputs) reads.push_back(view_of(id));
      for (int id : step.outputs) writes.push_back(view_of(id));
      const uint64_t ticket = step.op->is_random ? tickets[draws++] : step.ticket;
      const PartSpan span({labels_[s], timeline::kGraphStep});
      run_call(*step.op, *step.attrs, {reads.data(), reads.size()}, {writes.data(), writes.size()}, ticket);
    }
  };
  Stream* const stream = is_launching() ? current_stream() : nullptr;
  if (!stream || !segment.recurrence || !stream->keeps_recurrences()) return run_steps();
  stream->recur(segment.recurrence, arguments_of(segment, inputs, outputs, kept, scratch, kind), run_steps);
}

}  // namespace headrace
