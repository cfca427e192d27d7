#include "op/pointwise_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "op/call_body.h"
#include "op/device/turned_copy.cuh"
#include "op/formula/iteration.h"
#include "op/formula/source_cuda.h"
#include "op/formula/transfer.h"
#include "op/fused.h"
#include "op/launch_cuda.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kCopySerial = 0;  // of the formula that is no operator's

using Operands = std::vector<Operand>;

// Which formula: the operator's, and what its parameters choose.
struct FormulaName {
  uint64_t serial;
  uint32_t decisions;
  ComputeType compute;
};

// All that the source of a kernel is made from.
std::string key_of(const FormulaName& name, const Operands& operands, KernelShape shape) {
  KernelArguments key;
  key.add(name.serial).add(name.decisions).add(name.compute).add(shape.width).add(shape.ndim).add(shape.is_vast);
  for (const Operand& operand : operands) key.add(operand.dtype);
  return std::string(key.key());
}

// device::Arguments, as the kernel reads them.
KernelArguments arguments_of(ComputeType compute, const Iteration& iteration, const Operands& operands,
                             std::span<const double> parameters) {
  KernelArguments arguments;
  arguments.add(iteration.count);
  for (const Operand& operand : operands) arguments.add(operand.data);
  for (const int64_t extent : iteration.extents) arguments.add(extent);
  for (const int64_t stride : iteration.strides) arguments.add(stride);
  add_parameters(arguments, compute, parameters);
  return arguments;
}

KernelShape shape_for(const Iteration& iteration, const Operands& operands) {
  const auto ndim = static_cast<int>(iteration.ndim());
  if (ndim != 1 || !std::ranges::all_of(iteration.strides, [](int64_t stride) { return stride == 1; }))
    return {.width = 0, .ndim = ndim, .is_vast = iteration.count > std::numeric_limits<uint32_t>::max()};
  size_t largest = 2;  // bytes need not be packed more than halves
  for (const Operand& operand : operands) largest = std::max(largest, item_size(operand.dtype));
  const size_t width = kPackBytes / largest;
  const bool is_aligned = std::ranges::all_of(operands, [width](const Operand& operand) {
    return reinterpret_cast<uintptr_t>(operand.data) % (width * item_size(operand.dtype)) == 0;
  });
  return {.width = is_aligned ? static_cast<int>(width) : 1};
}

// A thread that has no more than a pack to do is over sooner than one that goes on, and keeps more of memory busy: on
// an H200 4.12 TB/s for 3.96.
KernelGrid grid_for(int64_t count, KernelShape shape) {
  const int64_t per_block = static_cast<int64_t>(kThreads) * std::max(shape.width, 1);
  const int64_t blocks = (count + per_block - 1) / per_block;
  return {shape.width > 0 ? std::min<int64_t>(blocks, INT32_MAX) : blocks_for(blocks), kThreads};
}

// Computes the outputs, operands behind the first `num_inputs`, over `space`.
void launch(const FormulaName& name, const Shape& space, const Operands& operands, size_t num_inputs,
            std::span<const double> parameters, FunctionRef<Formula()> formula) {
  const std::span<const Operand> all(operands);
  const Iteration iteration = simplify(space, all.first(num_inputs), all.subspan(num_inputs), &operands[num_inputs]);
  if (iteration.count == 0) return;
  const KernelShape shape = shape_for(iteration, operands);
  const auto source = [&] {
    std::vector<DType> dtypes;
    for (const Operand& operand : operands) dtypes.push_back(operand.dtype);
    return kernel_source(formula(), name.compute, dtypes, shape);
  };
  KernelArguments arguments = arguments_of(name.compute, iteration, operands, parameters);
  launch_cuda_source(kFormulaKernel, key_of(name, operands, shape), source, grid_for(iteration.count, shape),
                     arguments.bytes());
}

// Unsigned integers of the same size: bytes stay what they are.
DType bits_of(DType dtype) noexcept {
  switch (item_size(dtype)) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kUint16;
    case 4:
      return DType::kUint32;
    default:
      return DType::kUint64;
  }
}

// True: done, since neighbours lie together along one dimension where they come from and along another where they go.
bool copy_turned(const Iteration& iteration, const void* from, void* to, DType bits) {
  constexpr size_t kMostDims = 8;
  const size_t ndim = iteration.ndim();
  const int64_t *const from_strides = iteration.strides_of(0), *const to_strides = iteration.strides_of(1);
  if (ndim < 2 || ndim > kMostDims || to_strides[ndim - 1] != 1) return false;
  const size_t rows = static_cast<size_t>(std::find(from_strides, from_strides + ndim - 1, 1) - from_strides);
  constexpr int64_t kLeast = device::kTile / 2;
  if (rows == ndim - 1 || iteration.extents[rows] < kLeast || iteration.inner() < kLeast) return false;
  device::TurnedCopyArguments arguments{.from = from,
                                        .to = to,
                                        .rows = iteration.extents[rows],
                                        .columns = iteration.inner(),
                                        .row_stride = to_strides[rows],
                                        .column_stride = from_strides[ndim - 1],
                                        .batch = 1};
  int dims = 0;
  for (size_t d = 0; d + 1 < ndim; ++d) {
    if (d == rows) continue;
    arguments.extents[dims] = iteration.extents[d];
    arguments.from_strides[dims] = from_strides[d];
    arguments.to_strides[dims++] = to_strides[d];
    arguments.batch *= iteration.extents[d];
  }
  const auto tiles = [](int64_t extent) { return (extent + device::kTile - 1) / device::kTile; };
  launch_cuda({"op/device/turned_copy.cuh", fmt::format("turned_copy<{}, {}>", element_name(bits), dims),
               "TurnedCopyArguments"},
              {blocks_for(tiles(arguments.rows) * tiles(arguments.columns) * arguments.batch), kThreads}, arguments);
  return true;
}

}  // namespace

void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs) {
  const Pointwise& body = *op.pointwise;
  std::vector<View*> written(outputs.begin(), outputs.end());
  for (const uint32_t state : body.state_inputs) written.push_back(inputs[state]);
  SmallVector<double, 8> parameters;
  append_parameters(body, attrs, parameters);
  begin_mutations(op, inputs);
  const bool flat = is_flat(inputs, written);
  begin_writes(inputs, outputs, flat);
  const Shape space = flat ? Shape{written[0]->size()} : written[0]->shape();
  std::vector<Strides> strides;
  strides.reserve(inputs.size() + written.size());
  Operands operands;
  for (const std::span<View* const> views : {inputs, std::span<View* const>(written)}) {
    for (const View* view : views) {
      Strides& own = strides.emplace_back(space.size(), 1);
      if (!flat) broadcast_strides(view->shape(), view->strides(), space, own.data());
      operands.push_back({view->address(), view->dtype(), own.data()});
    }
  }
  const std::span<const double> numbers{parameters.data(), parameters.size()};
  const uint32_t decisions = body.choices.empty() ? 0 : decide(body.choices, numbers);
  launch({body.serial, decisions, compute}, space, operands, inputs.size(), numbers,
         [&] { return body.choices.empty() ? body.formula : with_decisions(body.formula, body.choices, decisions); });
}

void compute_formula_cuda(KernelContext&, const Pointwise& formula, ComputeType compute, const Shape& space,
                          std::span<const Operand> inputs, std::span<const Operand> outputs) {
  Operands operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  launch({formula.serial, 0, compute}, space, operands, inputs.size(), {}, [&] { return formula.formula; });
}

void copy_elements_cuda(KernelContext&, void* to, const Strides& to_strides, const void* from,
                        const Strides& from_strides, const Shape& shape, DType dtype) {
  const DType bits = bits_of(dtype);
  const Operands operands = {{const_cast<void*>(from), bits, from_strides.data()}, {to, bits, to_strides.data()}};
  const std::span<const Operand> all(operands);
  const Iteration iteration = simplify(shape, all.first(1), all.subspan(1), &operands[1]);
  if (iteration.count > 0 && copy_turned(iteration, from, to, bits)) return;
  launch({kCopySerial, 0, compute_type_of(bits)}, shape, operands, 1, {},
         [] { return Formula{.num_inputs = 1, .outputs = {input(0)}}; });
}

}  // namespace headrace
