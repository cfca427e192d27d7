#include "op/call_body.h"

#include <algorithm>

#include "base/check.h"
#include "device/scratch.h"
#include "device/stream.h"
#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "op/launch_call.h"
#include "op/op_def.h"
#include "op/packed_copies.h"
#include "op/pointwise.h"

namespace headrace {
PackedCopies::~PackedCopies() {
  for (const Copy& copy : copies_) give_back_scratch(copy.memory);
}

Tensor PackedCopies::pack(const View& view) {
  const size_t bytes = static_cast<size_t>(view.size()) * item_size(view.dtype());
  const Copy& copy = copies_.emplace_front(Copy{take_scratch(bytes), contiguous_strides(view.shape())});
  strided_copy(copy.memory.data, copy.strides, view.data(), view.strides(), view.shape(), view.dtype());
  return {copy.memory.data, view.dtype(), view.shape(), copy.strides, view.size()};
}

KernelContext::~KernelContext() { release_workspace(); }

void KernelContext::release_workspace() noexcept {
  for (const ScratchBlock& block : blocks_) give_back_scratch(block);
  blocks_.clear();
}

void* KernelContext::workspace(size_t bytes) {
  const ScratchBlock block = take_scratch(bytes);
  blocks_.push_back(block);
  return block.data;
}

double total_bytes(std::span<View* const> views) noexcept {
  double bytes = 0;
  for (const View* view : views)
    bytes += static_cast<double>(view->size()) * static_cast<double>(item_size(view->dtype()));
  return bytes;
}

double streaming_cost_ns(std::span<View* const> views) noexcept { return 50 + 0.1 * total_bytes(views); }

void begin_writes(std::span<View* const> inputs, std::span<View* const> outputs, bool replaces) {
  for (const View* output : outputs) {
    Storage* const storage = output->storage();
    if (!storage->has_extras()) continue;
    const auto lies_there = [storage](const View* input) { return input->storage() == storage; };
    storage->begin_write(replaces && output->covers_storage() && std::ranges::none_of(inputs, lies_there));
  }
}

void begin_mutations(const OpDef& op, std::span<View* const> inputs) {
  for (size_t i = 0; op.mutates != kNothing && i < inputs.size(); ++i)
    if (op.mutates_input(i)) inputs[i]->storage()->begin_write(false);
}

void compute_call(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs,
                  uint64_t ticket) {
  begin_mutations(op, inputs);
  if (op.pointwise) {
    run_pointwise(op, attrs, static_cast<ComputeType>(ticket), inputs, outputs);
    return;
  }
  begin_writes(inputs, outputs, true);
  PackedCopies packed;
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size() + outputs.size());
  const auto as_it_lies = [](const View& view) -> Tensor {
    return {view.data(), view.dtype(), view.shape(), view.strides(), view.size(), view.storage()};
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const View& view = *inputs[i];
    const bool needs_packing = !op.strided_inputs && !view.is_contiguous() && !op.mutates_input(i);
    tensors.push_back(needs_packing ? packed.pack(view) : as_it_lies(view));
  }
  for (const View* view : outputs) tensors.push_back(as_it_lies(*view));
  std::span<const Tensor> every(tensors);
  KernelContext context(op, every.first(inputs.size()), every.subspan(inputs.size()), ticket);
  op.kernel(context, attrs);
}

void run_call(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs,
              uint64_t ticket) {
  const View& first = *(outputs.empty() ? inputs : outputs)[0];
  try {
    if (!first.storage()->device().is_host() && is_launching()) [[unlikely]]
      return launch_call(op, attrs, inputs, outputs, ticket);
    compute_call(op, attrs, inputs, outputs, ticket);
  } catch (const Error& error) {  // an allocator does not know for whom there is no memory
    check(error.kind() != ErrorKind::kMemory, ErrorKind::kMemory, "{}: {}", op.shown_name(), error.what());
    throw;
  }
}

}  // namespace headrace
