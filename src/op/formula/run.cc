#include "op/formula/run.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/formula/iteration.h"
#include "op/formula/machine.h"

namespace headrace {
namespace {

constexpr int64_t kStreamBytes = int64_t{8} << 20;  // outputs this large would only push everything else out of cache
constexpr int64_t kSimpleLimit = 4096;
constexpr int kSimpleParameters = 4;
constexpr double kCallNs = 30;
constexpr double kNsPerCachedByte = 0.01, kNsPerByte = 0.06;
constexpr int64_t kCacheBytes = int64_t{1} << 20;

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

// One instruction over small dense arrays of the compute type: the kernel alone, without any machinery.
bool run_simple(const Program& program, const Shape& space, int64_t count, std::span<const Operand> inputs,
                const Operand& output, std::span<const double> parameters) {
  const DType dtype = dtype_of(program.compute_type());
  const int num_constants = static_cast<int>(program.constants().size());
  const int first_input = program.first_input(), first_output = program.first_output();
  if (output.dtype != dtype || !is_dense(output, space)) return false;
  for (const Operand& operand : inputs) {
    if (operand.dtype != dtype || !is_dense(operand, space)) return false;
  }
  Program::Scalar scalars[kSimpleParameters];
  for (size_t k = 0; k < parameters.size(); ++k) scalars[k] = program.to_scalar(parameters[k]);
  const Program::Instruction& item = program.instructions().front();
  const void* arguments[3];
  for (int i = 0; i < 3; ++i) {
    const int slot = item.arguments[i];
    if (slot >= first_output) return false;
    arguments[i] = slot >= first_input     ? inputs[slot - first_input].data
                   : slot >= num_constants ? static_cast<const void*>(&scalars[slot - num_constants])
                                           : &program.constants()[slot];
  }
  item.kernel(output.data, arguments[0], arguments[1], arguments[2], count);
  return true;
}

}  // namespace

double cost_ns(const Program& program, int64_t elements) {
  const int64_t operands = program.num_inputs() + program.num_outputs();
  const int64_t bytes = elements * operands * static_cast<int64_t>(item_size(program.compute_type()));
  const double memory = static_cast<double>(bytes) * (bytes < kCacheBytes ? kNsPerCachedByte : kNsPerByte);
  return kCallNs + std::max(memory, static_cast<double>(elements) * program.cost_per_element());
}

void run(const Program& program, const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs,
         std::span<const double> parameters) {
  check_counts(program, inputs.size(), outputs.size(), parameters.size());
  int64_t count = 1;
  for (const int64_t extent : space) count *= extent;
  if (count == 0) return;
  if (count <= kSimpleLimit && program.is_simple() && parameters.size() <= kSimpleParameters &&
      run_simple(program, space, count, inputs, outputs[0], parameters))
    return;
  const Iteration iteration = simplify(space, inputs, outputs, &outputs[0]);
  const Scalars scalars = compute_scalars(program, parameters);
  const bool stream = count * static_cast<int64_t>(item_size(program.compute_type())) >= kStreamBytes;
  const auto body = [&](int64_t begin, int64_t end) {
    Machine(program, iteration, inputs, outputs, scalars, stream, end - begin).run_range(begin, end);
  };
  const double cost = cost_ns(program, count);
  if (cost < 2 * kCostPerThreadNs) {
    body(0, count);
  } else {
    parallel_for(count, kTile * 16, cost, body);
  }
}

struct TileReader::State {
  State(const Program& program, const Shape& space, std::span<const Operand> inputs, std::span<const double> parameters)
      : iteration(simplify(space, inputs, {}, nullptr)),
        scalars(compute_scalars(program, parameters)),
        machine(program, iteration, inputs, {}, scalars, false, kTile) {}

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
