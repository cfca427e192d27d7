// Simulated GPUs as devices that do not run the host's code: what they compute is in a table of kernels, each of which
// is launched and runs late, on what it owns; some operators are left to the host.
#include <array>
#include <set>
#include <string>
#include <vector>

#include "backend/sim/sim_machine.h"
#include "device/plugin.h"
#include "device/stream.h"
#include "op/call_body.h"
#include "op/catalogue.h"
#include "op/kernel_table.h"

namespace headrace {
namespace {

struct OwnedTensor {
  explicit OwnedTensor(const Tensor& t)
      : data(t.data), dtype(t.dtype), shape(t.shape), strides(t.strides), size(t.size), storage(t.storage) {}
  Tensor tensor() const { return {data, dtype, shape, strides, size, storage}; }
  const void* block() const { return storage ? storage->address() : data; }

  void* data;
  DType dtype;
  Shape shape;
  Strides strides;
  int64_t size;
  Storage* storage;
};

std::vector<Tensor> tensors_of(const std::vector<OwnedTensor>& owned) {
  std::vector<Tensor> tensors;
  for (const OwnedTensor& one : owned) tensors.push_back(one.tensor());
  return tensors;
}

void launch(const OpDef& op, KernelContext& context, const Attrs& attrs) {
  std::vector<OwnedTensor> inputs, outputs;
  for (size_t i = 0; i < context.input_count(); ++i) inputs.emplace_back(context.input(i));
  for (size_t i = 0; i < context.output_count(); ++i) outputs.emplace_back(context.output(i));
  std::vector<const void*> memory;
  for (const std::vector<OwnedTensor>* all : {&inputs, &outputs})
    for (const OwnedTensor& one : *all) memory.push_back(one.block());
  run_on_device(memory, [&op, inputs, outputs, kept = AttrsPtr(&attrs), ticket = context.ticket()] {
    const std::vector<Tensor> in = tensors_of(inputs), out = tensors_of(outputs);
    KernelContext late(op, in, out, ticket);
    op.kernel(late, *kept);
  });
}

void launch_pointwise(const OpDef& op, const Attrs& attrs, ComputeType compute, std::span<View* const> inputs,
                      std::span<View* const> outputs) {
  std::vector<const void*> memory;
  for (const std::span<View* const> views : {inputs, outputs})
    for (const View* view : views) memory.push_back(view->storage()->address());
  run_on_device(memory, CallBody(op, attrs, inputs, outputs, static_cast<uint64_t>(compute)));
}

const KernelTable& kernels() {
  static const KernelTable& table = [&]() -> const KernelTable& {
    static const std::set<std::string> on_host = {"sort", "topk", "gather_nd", "Pooling", "BatchNorm"};
    KernelTable& made = *new KernelTable;
    for (const OpDef& op : catalogue().all()) {
      if (on_host.contains(op.name))
        made.set_on_host(op);
      else if (op.kernel)
        made.set(op, [&op](KernelContext& context, const Attrs& attrs) { launch(op, context, attrs); });
    }
    made.set_pointwise(launch_pointwise);
    return made;
  }();
  return table;
}

}  // namespace
}  // namespace headrace

extern "C" [[gnu::visibility("default")]] const headrace::BackendLibrary* headrace_backends() {
  static const std::array entries = {
      headrace::BackendEntry{headrace::DeviceType::kGpu, &headrace::sim_machine(), headrace::kernels}};
  static const headrace::BackendLibrary library = {
      .backends = []() -> std::span<const headrace::BackendEntry> { return entries; }};
  return &library;
}
