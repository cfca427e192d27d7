#include "op/formula/machine.h"

#include <algorithm>
#include <utility>

#include "op/simd/memory.h"

namespace headrace {
namespace {

constexpr size_t kAlignment = 64;

constexpr size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Steps per position when an operand walks the whole space evenly; false otherwise.
bool even_step(const Iteration& iteration, const int64_t* strides, int64_t& step) {
  step = strides[iteration.ndim() - 1];
  int64_t expected = step;
  for (size_t d = iteration.ndim(); d-- > 0;) {
    if (strides[d] != expected) return false;
    expected *= iteration.extents[d];
  }
  return true;
}

}  // namespace

Scalars compute_scalars(const Program& program, std::span<const double> parameters) {
  Scalars scalars(program.constants());
  for (const double value : parameters) scalars.push_back(program.to_scalar(value));
  scalars.resize(program.num_scalars());
  for (const Program::Instruction& item : program.prologue()) {
    item.kernel(&scalars[item.result], &scalars[item.arguments[0]], &scalars[item.arguments[1]],
                &scalars[item.arguments[2]], 1);
  }
  return scalars;
}

bool overwrites_pending_input(const Program& program, std::span<const Operand> inputs, const Operand& output,
                              int number) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == output.data && needed_after(program, i, static_cast<size_t>(number))) return true;
  }
  return false;
}

Machine::Machine(const Program& program, const Iteration& iteration, std::span<const Operand> inputs,
                 std::span<const Operand> outputs, const Scalars& scalars, int64_t longest)
    : program_(program), iteration_(iteration) {
  const auto length = static_cast<size_t>(std::min(longest, kTile));
  tile_bytes_ = round_up(length * item_size(program.compute_type())) + (length == kTile ? kTilePadding : 0);
  const size_t slot_bytes = round_up(program.num_slots() * sizeof(void*));
  const size_t tiles = program.num_slots() - program.num_scalars();
  const size_t needed = slot_bytes + tiles * tile_bytes_;
  next_ = inline_;
  if (needed > kInlineBytes) {
    heap_.reset(new std::byte[needed + kAlignment]);
    const auto address = reinterpret_cast<uintptr_t>(heap_.get());
    next_ = heap_.get() + (round_up(address) - address);
  }
  slots_ = reinterpret_cast<void**>(take(slot_bytes));
  for (int i = 0; i < program.num_scalars(); ++i) slots_[i] = const_cast<Program::Scalar*>(&scalars[i]);
  add_inputs(inputs);
  add_outputs(inputs, outputs);
  const Kernel fill = kernels(program.compute_type()).get(Opcode::kCopy, 1);
  for (const Program::Fill& item : program.fills()) {
    slots_[item.result] = take_tile();
    fill(slots_[item.result], slots_[item.scalar], nullptr, nullptr, static_cast<int64_t>(length));
  }
  for (int i = 0; i < program.num_registers(); ++i) slots_[program.first_register() + i] = take_tile();
  const Program::Instruction& last = program.instructions().back();
  result_slot_ = static_cast<uint16_t>(program.first_output());
  // A reader of an input as it is needs no copy of it.
  if (outputs.empty() && last.opcode == Opcode::kCopy && last.arguments[0] >= program.first_input())
    result_slot_ = program.instructions().size() == 1 ? last.arguments[0] : result_slot_;
}

std::byte* Machine::take(size_t bytes) noexcept { return std::exchange(next_, next_ + bytes); }

Machine::Access Machine::access(const Operand& operand, size_t number) const {
  Access result{};
  result.data = static_cast<char*>(operand.data);
  result.strides = iteration_.strides_of(number);
  result.item_size = static_cast<int64_t>(item_size(operand.dtype));
  result.even = even_step(iteration_, result.strides, result.step);
  result.converted = operand.dtype != dtype_of(program_.compute_type());
  result.in_place = !result.converted && result.strides[iteration_.ndim() - 1] == 1;
  return result;
}

void Machine::add_inputs(std::span<const Operand> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Access item = access(inputs[i], i);
    item.slot = static_cast<uint16_t>(program_.first_input() + i);
    item.load = load_function(inputs[i].dtype, program_.compute_type());
    item.once = item.even && item.step == 0;
    if (program_.last_use_of_input(static_cast<int>(i)) < 0) continue;
    if (!(item.in_place && item.even)) item.tile = take_tile();
    if (item.once) {
      const auto length = static_cast<int64_t>(std::min<int64_t>(iteration_.count, kTile));
      item.load(item.tile, item.data, 0, length);
    }
    slots_[item.slot] = item.tile;
    inputs_.push_back(item);
  }
}

void Machine::add_outputs(std::span<const Operand> inputs, std::span<const Operand> outputs) {
  for (int o = 0; o < program_.num_outputs(); ++o) {
    const auto slot = static_cast<uint16_t>(program_.first_output() + o);
    if (outputs.empty()) {
      slots_[slot] = take_tile();
      continue;
    }
    Access item = access(outputs[o], inputs.size() + o);
    item.slot = slot;
    item.store = store_function(program_.compute_type(), outputs[o].dtype);
    const bool is_input =
        std::any_of(inputs.begin(), inputs.end(), [&](const Operand& input) { return input.data == outputs[o].data; });
    item.stream = item.even && item.step == 1 && !is_input && iteration_.count * item.item_size > simd::stream_bytes();
    item.in_place = item.in_place && !item.stream && !overwrites_pending_input(program_, inputs, outputs[o], o);
    if (!(item.in_place && item.even)) item.tile = take_tile();
    slots_[slot] = item.tile;
    outputs_.push_back(item);
  }
}

char* Machine::place_of(const Access& access, int64_t position) const {
  if (access.even) return access.data + position * access.step * access.item_size;
  int64_t offset = 0;
  for (size_t d = iteration_.ndim(); d-- > 0 && position != 0;) {
    const int64_t extent = iteration_.extents[d];
    const int64_t outer = position / extent;
    offset += (position - outer * extent) * access.strides[d];
    position = outer;
  }
  return access.data + offset * access.item_size;
}

// Calls f(memory, done, length) for each stretch along the innermost of at least two dimensions.
template <class F>
void Machine::for_each_run(const Access& access, int64_t first, int64_t n, F&& f) const {
  const size_t last = iteration_.ndim() - 1;
  const int64_t inner = iteration_.inner(), rows = iteration_.extents[last - 1];
  const int64_t next_row = access.strides[last - 1] * access.item_size;
  int64_t column = first % inner, row = first / inner % rows;
  char* memory = place_of(access, first);
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, inner - column);
    f(memory, done, length);
    done += length;
    if (++row == rows) {
      row = 0;
      memory = place_of(access, first + done);
    } else {
      memory += next_row - column * access.strides[last] * access.item_size;
    }
    column = 0;
  }
}

void Machine::fetch(const Access& access, int64_t first, int64_t n, bool within_row) {
  if (access.once) return;
  if (access.even) {
    char* memory = place_of(access, first);
    if (access.in_place) {
      slots_[access.slot] = memory;
    } else {
      access.load(access.tile, memory, access.step, n);
    }
    return;
  }
  const int64_t stride = access.strides[iteration_.ndim() - 1];
  if (within_row && access.in_place) {
    slots_[access.slot] = place_of(access, first);
    return;
  }
  slots_[access.slot] = access.tile;
  const auto width = static_cast<int64_t>(item_size(program_.compute_type()));
  for_each_run(access, first, n, [&](char* memory, int64_t done, int64_t length) {
    access.load(static_cast<char*>(access.tile) + done * width, memory, stride, length);
  });
}

void* Machine::prepare_output(const Access& access, int64_t first, bool within_row) const {
  return access.in_place && (access.even || within_row) ? place_of(access, first) : access.tile;
}

void Machine::put_back(const Access& access, int64_t first, int64_t n, bool within_row) {
  if (access.in_place && (access.even || within_row)) return;
  if (access.stream) {
    stream_out(access, place_of(access, first), n);
  } else if (access.even) {
    access.store(access.tile, place_of(access, first), access.step, n);
  } else {
    const int64_t stride = access.strides[iteration_.ndim() - 1];
    const auto width = static_cast<int64_t>(item_size(program_.compute_type()));
    for_each_run(access, first, n, [&](char* memory, int64_t done, int64_t length) {
      access.store(static_cast<const char*>(access.tile) + done * width, memory, stride, length);
    });
  }
}

// The first n <= kTile values of the tile.
void Machine::stream_out(const Access& access, char* memory, int64_t n) {
  alignas(kAlignment) std::byte stored[kTile * 8];
  if (access.converted) access.store(access.tile, stored, 1, n);
  simd::stream_copy(memory, access.converted ? stored : access.tile, static_cast<size_t>(n * access.item_size));
}

void Machine::run_tile(int64_t first, int64_t n) {
  const int64_t inner = iteration_.inner();
  const bool within_row = iteration_.ndim() == 1 || first % inner + n <= inner;
  for (const Access& access : inputs_) fetch(access, first, n, within_row);
  if (result_slot_ < program_.first_output()) return;
  for (const Access& access : outputs_) slots_[access.slot] = prepare_output(access, first, within_row);
  program_.execute(slots_, n);
  for (const Access& access : outputs_) put_back(access, first, n, within_row);
}

// One step on inputs that are used where they lie takes the whole range at once. One instruction streams by tiles, in a
// loop of its own: loads that a machine does for each tile would wait for the stores that are on their way to memory
// whenever their addresses agree in the low bits.
bool Machine::run_single(int64_t begin, int64_t end) {
  const auto lies_in_place = [](const Access& access) { return access.in_place && access.even; };
  if (program_.steps().size() != 1 || !program_.fills().empty() ||
      !std::all_of(inputs_.begin(), inputs_.end(), lies_in_place))
    return false;
  if (std::all_of(outputs_.begin(), outputs_.end(), lies_in_place)) {
    run_tile(begin, end - begin);
    return true;
  }
  const Access& output = outputs_[0];
  if (program_.instructions().size() != 1 || !output.stream) return false;
  const Program::Instruction& item = program_.instructions()[0];
  for (const Access& access : inputs_) fetch(access, begin, end - begin, true);
  const char* arguments[3];
  int64_t steps[3];  // bytes per element
  const auto width = static_cast<int64_t>(item_size(program_.compute_type()));
  for (int i = 0; i < 3; ++i) {
    arguments[i] = static_cast<const char*>(slots_[item.arguments[i]]);
    steps[i] = item.arguments[i] >= program_.first_input() ? width : 0;
  }
  char* memory = place_of(output, begin);
  for (int64_t left = end - begin; left > 0;) {
    const int64_t n = std::min(kTile, left);
    item.kernel(output.tile, arguments[0], arguments[1], arguments[2], n);
    stream_out(output, memory, n);
    for (int i = 0; i < 3; ++i) arguments[i] += n * steps[i];
    memory += n * output.item_size;
    left -= n;
  }
  simd::stream_fence();
  return true;
}

void Machine::run_range(int64_t begin, int64_t end) {
  if (run_single(begin, end)) return;
  const int64_t inner = iteration_.inner();
  const bool by_rows = iteration_.ndim() > 1 && inner >= kTile / 2;
  for (int64_t first = begin; first < end;) {
    int64_t n = std::min(kTile, end - first);
    if (by_rows) n = std::min(n, inner - first % inner);
    run_tile(first, n);
    first += n;
  }
  if (std::any_of(outputs_.begin(), outputs_.end(), [](const Access& access) { return access.stream; }))
    simd::stream_fence();
}

}  // namespace headrace
