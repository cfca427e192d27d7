#include "op/formula/run.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/formula/iteration.h"
#include "op/formula/machine.h"
#include "op/simd/memory.h"

namespace headrace {
namespace {

constexpr int64_t kSmallCount = 4096;
constexpr int kSmallSlots = 64, kSmallScalars = 32;
constexpr size_t kSmallBytes = 16 * 1024;
constexpr double kCallNs = 30;
constexpr double kNsPerCachedByte = 0.01, kNsPerSharedCacheByte = 0.02, kNsPerByte = 0.06;
constexpr double kCacheBytes = 1 << 20;  // of a core

void check_counts(const Program& program, size_t inputs, size_t outputs, size_t parameters) {
  const auto expected_inputs = static_cast<size_t>(program.num_inputs());
  const auto expected_outputs = static_cast<size_t>(program.num_outputs());
  const auto expected_parameters = static_cast<size_t>(program.num_parameters());
  check(inputs == expected_inputs && outputs == expected_outputs && parameters == expected_parameters,
        ErrorKind::kValue,
        "formula: expected {} inputs, {} outputs and {} parameters, got {}, {} and {}; pass one operand for each",
        expected_inputs, expected_outputs, expected_parameters, inputs, outputs, parameters);
}

bool is_dense(const Operand& operand, const Shape& space) {
  int64_t expected = 1;
  for (size_t d = space.size(); d-- > 0;) {
    if (space[d] != 1 && operand.strides[d] != expected) return false;
    expected *= space[d];
  }
  return true;
}

bool all_dense(const Program& program, const Shape& space, std::span<const Operand> operands) {
  const DType dtype = dtype_of(program.compute_type());
  return std::all_of(operands.begin(), operands.end(),
                     [&](const Operand& operand) { return operand.dtype == dtype && is_dense(operand, space); });
}

bool run_small(const Program& program, const Shape& space, int64_t count, std::span<const Operand> inputs,
               std::span<const Operand> outputs, std::span<const double> parameters) {
  if (!all_dense(program, space, inputs) || !all_dense(program, space, outputs)) return false;
  SmallVector<void*, 16> data;
  for (const Operand& operand : inputs) data.push_back(operand.data);
  for (const Operand& operand : outputs) data.push_back(operand.data);
  return run_packed(program, count, {data.data(), data.size()}, parameters);
}

}  // namespace

double cost_ns(const Program& program, int64_t elements) {
  const double bytes = static_cast<double>(elements) * program.bytes_per_element();
  const double ns_per_byte = bytes < kCacheBytes                                 ? kNsPerCachedByte
                             : bytes < static_cast<double>(simd::stream_bytes()) ? kNsPerSharedCacheByte
                                                                                 : kNsPerByte;
  const double memory = bytes * ns_per_byte;
  return kCallNs + std::max(memory, static_cast<double>(elements) * program.cost_per_element());
}

void run(const Program& program, const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs,
         std::span<const double> parameters) {
  check_counts(program, inputs.size(), outputs.size(), parameters.size());
  int64_t count = 1;
  for (const int64_t extent : space) count *= extent;
  if (count == 0) return;
  if (count <= kSmallCount && run_small(program, space, count, inputs, outputs, parameters)) return;
  const Iteration iteration = simplify(space, inputs, outputs, &outputs[0]);
  const Scalars scalars = compute_scalars(program, parameters);
  const auto body = [&](int64_t begin, int64_t end) {
    Machine(program, iteration, inputs, outputs, scalars, end - begin).run_range(begin, end);
  };
  const double cost = cost_ns(program, count);
  if (cost < kLeastSharedNs) {
    body(0, count);
  } else {
    parallel_for(count, kTile, cost, body);
  }
}

bool run_packed(const Program& program, int64_t count, std::span<void* const> data,
                std::span<const double> parameters) {
  const size_t tiles = program.fills().size() + static_cast<size_t>(program.num_registers());
  const size_t tile_bytes = (static_cast<size_t>(count) * item_size(program.compute_type()) + 63) / 64 * 64;
  if (count > kSmallCount || program.num_slots() > kSmallSlots || program.num_scalars() > kSmallScalars ||
      tiles * tile_bytes > kSmallBytes)
    return false;
  const size_t inputs = static_cast<size_t>(program.num_inputs());
  for (size_t o = inputs; o < data.size(); ++o)
    for (size_t i = 0; i < inputs; ++i)
      if (data[i] == data[o] && needed_after(program, i, o - inputs)) return false;
  Program::Scalar scalars[kSmallScalars];
  void* slots[kSmallSlots];
  alignas(64) std::byte memory[kSmallBytes];
  void** next = slots;
  const std::span<const Program::Scalar> constants = program.constants();
  for (const Program::Scalar& constant : constants) *next++ = const_cast<Program::Scalar*>(&constant);
  for (size_t k = constants.size(); k < static_cast<size_t>(program.num_scalars()); ++k) {
    if (k - constants.size() < parameters.size()) scalars[k] = program.to_scalar(parameters[k - constants.size()]);
    *next++ = &scalars[k];
  }
  for (void* operand : data) *next++ = operand;
  for (size_t i = 0; i < tiles; ++i) *next++ = memory + i * tile_bytes;
  for (const Program::Instruction& item : program.prologue()) Program::run(item, slots, 1);
  if (!program.fills().empty()) {
    const Kernel fill = kernels(program.compute_type()).get(Opcode::kCopy, 1);
    for (const Program::Fill& item : program.fills())
      fill(slots[item.result], slots[item.scalar], nullptr, nullptr, count);
  }
  program.execute(slots, count);
  return true;
}

struct TileReader::State {
  State(const Program& program, const Shape& space, std::span<const Operand> inputs, std::span<const double> parameters)
      : iteration(simplify(space, inputs, {}, nullptr)),
        scalars(compute_scalars(program, parameters)),
        machine(program, iteration, inputs, {}, scalars, kTile) {}

  Iteration iteration;
  Scalars scalars;
  Machine machine;
};

TileReader::TileReader(const Program& program, const Shape& space, std::span<const Operand> inputs,
                       std::span<const double> parameters) {
  check_counts(program, inputs.size(), static_cast<size_t>(program.num_outputs()), parameters.size());
  state_ = std::make_unique<State>(program, space, inputs, parameters);
}

TileReader::~TileReader() = default;

const void* TileReader::read(int64_t first, int64_t n) {
  state_->machine.run_tile(first, n);
  return state_->machine.result();
}

}  // namespace headrace
