#include "op/pointwise_cuda.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cuda/compiler.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "base/check.h"
#include "op/call_body.h"
#include "op/formula/iteration.h"
#include "op/formula/source_cuda.h"
#include "op/formula/transfer.h"
#include "op/fused.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kWidth = 4;            // elements that a thread of a packed kernel takes at once
constexpr int kBlocksPerCore = 32;   // more would only queue: threads go on to further elements
constexpr uint64_t kCopySerial = 0;  // of the formula that is no operator's

using Operands = std::vector<Operand>;

CudaDevice& current_cuda_device() noexcept { return static_cast<CudaDevice&>(current_stream()->accelerator()); }

// Which formula: the operator's, and what its parameters choose.
struct FormulaName {
  uint64_t serial;
  uint32_t decisions;
  ComputeType compute;
};

// The kernels of one device, by what they are made from. The compiler knows them by their source, which takes longer to
// write.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, CUfunction> known;  // guarded by mutex
};

template <class T>
void append_bytes(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Kernels& kernels_of(const CudaDevice& device) {
  static auto& all = *new std::array<Kernels, Accelerator::kMost>;
  return all[static_cast<size_t>(device.device().id)];
}

// `formula` gives what the name stands for, if it is needed.
CUfunction find_kernel(CudaDevice& device, const FormulaName& name, const Operands& operands, KernelShape shape,
                       FunctionRef<Formula()> formula) {
  std::string key;
  append_bytes(key, name.serial);
  append_bytes(key, name.decisions);
  append_bytes(key, name.compute);
  append_bytes(key, shape.width);
  append_bytes(key, shape.ndim);
  for (const Operand& operand : operands) append_bytes(key, operand.dtype);
  Kernels& all = kernels_of(device);
  const std::lock_guard guard(all.mutex);
  CUfunction& kernel = all.known[key];
  if (kernel) return kernel;
  std::vector<DType> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtype);
  return kernel = kernel_function(device, kernel_source(formula(), name.compute, dtypes, shape), kFormulaKernel);
}

// device::Arguments, as the kernel reads them.
std::string argument_bytes(ComputeType compute, const Iteration& iteration, const Operands& operands,
                           std::span<const double> parameters) {
  std::string bytes;
  append_bytes(bytes, iteration.count);
  for (const Operand& operand : operands) append_bytes(bytes, operand.data);
  for (const int64_t extent : iteration.extents) append_bytes(bytes, extent);
  for (const int64_t stride : iteration.strides) append_bytes(bytes, stride);
  for (const double parameter : parameters) {
    const Program::Scalar scalar = Program::scalar_of(compute, parameter);
    bytes.append(reinterpret_cast<const char*>(&scalar), item_size(compute));
  }
  if (parameters.empty()) bytes.append(item_size(compute), '\0');
  constexpr size_t kAlignment = alignof(int64_t);
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  return bytes;
}

KernelShape shape_for(const Iteration& iteration, const Operands& operands) {
  const auto ndim = static_cast<int>(iteration.ndim());
  if (ndim != 1 || !std::ranges::all_of(iteration.strides, [](int64_t stride) { return stride == 1; }))
    return {.width = 0, .ndim = ndim};
  const bool is_aligned = std::ranges::all_of(operands, [](const Operand& operand) {
    return reinterpret_cast<uintptr_t>(operand.data) % (kWidth * item_size(operand.dtype)) == 0;
  });
  return {.width = is_aligned ? kWidth : 1};
}

// Computes the outputs, operands behind the first `num_inputs`, over `space`.
void launch(const FormulaName& name, const Shape& space, const Operands& operands, size_t num_inputs,
            std::span<const double> parameters, FunctionRef<Formula()> formula) {
  const std::span<const Operand> all(operands);
  const Iteration iteration = simplify(space, all.first(num_inputs), all.subspan(num_inputs), &operands[num_inputs]);
  if (iteration.count == 0) return;
  const KernelShape shape = shape_for(iteration, operands);
  CudaDevice& device = current_cuda_device();
  const CUfunction kernel = find_kernel(device, name, operands, shape, formula);
  const std::string arguments = argument_bytes(name.compute, iteration, operands, parameters);
  const int64_t per_block = static_cast<int64_t>(kThreads) * std::max(shape.width, 1);
  const int64_t blocks = std::min<int64_t>((iteration.count + per_block - 1) / per_block,
                                           static_cast<int64_t>(device.processors()) * kBlocksPerCore);
  current_cuda_stream().put_kernel(kernel, static_cast<unsigned>(blocks), kThreads,
                                   std::as_bytes(std::span(arguments)));
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

}  // namespace

void launch_pointwise_cuda(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                           std::span<View* const> outputs) {
  const Pointwise& body = *op.pointwise;
  std::vector<View*> written(outputs.begin(), outputs.end());
  for (const uint32_t state : body.state_inputs) written.push_back(inputs[state]);
  SmallVector<double, 8> parameters;
  append_parameters(body, attrs, parameters);
  begin_mutations(op, inputs);
  begin_writes(inputs, outputs, is_flat(inputs, written));
  const Shape& space = written[0]->shape();
  std::vector<Strides> strides;
  strides.reserve(inputs.size() + written.size());
  Operands operands;
  for (const std::span<View* const> views : {inputs, std::span<View* const>(written)}) {
    for (const View* view : views) {
      Strides& own = strides.emplace_back(space.size());
      broadcast_strides(view->shape(), view->strides(), space, own.data());
      operands.push_back({view->address(), view->dtype(), own.data()});
    }
  }
  const std::span<const double> numbers{parameters.data(), parameters.size()};
  const uint32_t decisions = body.choices.empty() ? 0 : decide(body.choices, numbers);
  launch({body.serial, decisions, compute}, space, operands, inputs.size(), numbers,
         [&] { return body.choices.empty() ? body.formula : with_decisions(body.formula, body.choices, decisions); });
}

void launch_packed_copy_cuda(KernelContext& context, const Attrs&) {
  const Tensor &from = context.input(0), &to = context.output(0);
  const DType bits = bits_of(from.dtype);
  const Strides packed = contiguous_strides(from.shape);
  const Operands operands = {{from.data, bits, from.strides.data()}, {to.data, bits, packed.data()}};
  launch({kCopySerial, 0, compute_type_of(bits)}, from.shape, operands, 1, {},
         [] { return Formula{.num_inputs = 1, .outputs = {input(0)}}; });
}

}  // namespace headrace
