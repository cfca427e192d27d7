#include "op/launch_call.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "device/registry.h"
#include "device/scratch.h"
#include "device/stream.h"
#include "op/call_body.h"
#include "op/catalogue.h"
#include "op/detours.h"
#include "op/kernel.h"
#include "op/kernel_table.h"

namespace headrace {
namespace {

using Views = std::span<View* const>;

bool needs_packing(const OpDef& op, const View& view, size_t input) {
  return !op.strided_inputs && !view.is_contiguous() && !op.mutates_input(input);
}

int64_t item(const View& view) { return static_cast<int64_t>(item_size(view.dtype())); }

// --- kernels of the device -------------------------------------------------------------------------------------------

Tensor tensor_of(const View& view) {
  return {view.address(), view.dtype(), view.shape(), view.strides(), view.size(), view.storage()};
}

// Row-major copies of operands, which the device makes, in scratch that stays until the launch is retired: device code
// may take scratch of its own when it runs.
class Packing {
 public:
  Packing(const KernelTable& table, size_t most) : table_(table) { strides_.reserve(most); }

  Tensor pack(const View& view) {
    static const OpDef& contiguous = find_op("_contiguous");
    const Strides& strides = strides_.emplace_back(contiguous_strides(view.shape()));
    void* const copy = take_scratch(static_cast<size_t>(view.size() * item(view))).data;
    const Tensor from = tensor_of(view), to{copy, view.dtype(), view.shape(), strides, view.size()};
    const KernelTable::Kernel* const kernel = table_.find(contiguous);
    check(kernel != nullptr, ErrorKind::kRuntime, "{}: the device has no kernel for it, so it cannot pack arrays",
          contiguous.name);
    KernelContext context(contiguous, {&from, 1}, {&to, 1}, 0);
    (*kernel)(context, *contiguous.default_attrs);
    return to;
  }

 private:
  const KernelTable& table_;
  std::vector<Strides> strides_;  // never grows beyond what was reserved: tensors refer to them
};

void launch_kernel(const KernelTable& table, const KernelTable::Kernel& kernel, const OpDef& op, const Attrs& attrs,
                   Views inputs, Views outputs, uint64_t ticket) {
  begin_mutations(op, inputs);
  begin_writes(inputs, outputs, true);
  Packing packing(table, inputs.size());
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size() + outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(needs_packing(op, *inputs[i], i) ? packing.pack(*inputs[i]) : tensor_of(*inputs[i]));
  for (const View* view : outputs) tensors.push_back(tensor_of(*view));
  const std::span<const Tensor> all(tensors);
  KernelContext context(op, all.first(inputs.size()), all.subspan(inputs.size()), ticket);
  kernel(context, attrs);
}

// --- on the host -----------------------------------------------------------------------------------------------------

// The bytes of a storage of the device between its first and last element in use, and their place in host memory.
struct Extent {
  Storage* there;
  int64_t begin, end;
  StoragePtr here;

  size_t bytes() const noexcept { return static_cast<size_t>(end - begin); }
  MemoryBlock on_device() const { return {there->device(), static_cast<char*>(there->address()) + begin}; }
  MemoryBlock on_host() const { return {here->device(), here->address()}; }
};

// The call of an operator with its arrays copied to host memory, strides and shared storages as they were.
class HostCall {
 public:
  HostCall(Views inputs, Views outputs, Device host) {
    for (const Views views : {inputs, outputs})
      for (const View* view : views) include(*view);
    for (Extent& extent : extents_)
      extent.here = StoragePtr(new Storage(allocator_of(host), host, std::max<size_t>(1, extent.bytes())));
    for (const Views views : {inputs, outputs})
      for (const View* view : views) views_.push_back(moved(*view));
  }

  std::span<const Extent> extents() const noexcept { return extents_; }
  std::vector<View*> views() const {
    std::vector<View*> all;
    for (const ViewPtr& view : views_) all.push_back(view.get());
    return all;
  }

 private:
  Extent* find(const View& view) {
    const auto found = std::ranges::find(extents_, view.storage(), &Extent::there);
    return found == extents_.end() ? nullptr : &*found;
  }
  void include(const View& view) {
    int64_t first = view.offset(), last = view.offset();
    for (size_t axis = 0; axis < view.shape().size() && view.size() > 0; ++axis) {
      const int64_t reach = (view.shape()[axis] - 1) * view.strides()[axis];
      (reach < 0 ? first : last) += reach;
    }
    const int64_t begin = first * item(view), end = view.size() > 0 ? (last + 1) * item(view) : begin;
    if (Extent* const known = find(view)) {
      known->begin = std::min(known->begin, begin);
      known->end = std::max(known->end, end);
    } else {
      extents_.push_back({view.storage(), begin, end, {}});
    }
  }
  ViewPtr moved(const View& view) {
    const Extent& extent = *find(view);
    return ViewPtr(
        new View(extent.here, view.dtype(), view.shape(), view.strides(), view.offset() - extent.begin / item(view)));
  }

  std::vector<Extent> extents_;
  std::vector<ViewPtr> views_;
};

// Copies to the host, the host's code in the order of the stream, and copies of everything that was written back.
// Outputs are copied to the host, too: they may cover only part of the bytes between their ends.
void launch_on_host(const OpDef& op, const Attrs& attrs, Views inputs, Views outputs, uint64_t ticket) {
  count_detour(op, "computed on the host");
  begin_mutations(op, inputs);
  begin_writes(inputs, outputs, true);
  const auto call = std::make_shared<HostCall>(inputs, outputs, Device{DeviceType::kCpuPinned, 0});
  current_work()->hold(call);
  Stream& stream = *current_stream();
  for (const Extent& extent : call->extents()) stream.copy(extent.on_host(), extent.on_device(), extent.bytes());
  const AttrsPtr kept(&attrs);
  run_on_device({}, [call, kept, &op, count = inputs.size(), ticket] {
    const std::vector<View*> views = call->views();
    const Views all(views);
    compute_call(op, *kept, all.first(count), all.subspan(count), ticket);
  });
  const auto is_written = [&](const Extent& extent) {
    const auto lies_there = [&](const View* view) { return view->storage() == extent.there; };
    for (size_t i = 0; i < inputs.size(); ++i)
      if (op.mutates_input(i) && lies_there(inputs[i])) return true;
    return std::ranges::any_of(outputs, lies_there);
  };
  for (const Extent& extent : call->extents())
    if (is_written(extent)) stream.copy(extent.on_device(), extent.on_host(), extent.bytes());
}

// --- the host's code as device code ----------------------------------------------------------------------------------

void put_call(CallBody call) {
  SmallVector<const void*, 8> memory;
  for (const View* view : call.views.views()) memory.push_back(view->storage()->address());
  run_on_device({memory.data(), memory.size()}, std::move(call));
}

}  // namespace

void launch_call(const OpDef& op, const Attrs& attrs, Views inputs, Views outputs, uint64_t ticket) {
  const Device device = (outputs.empty() ? inputs : outputs)[0]->storage()->device();
  const KernelTable* const table = kernels_of(device.type);
  if (!table) return put_call(CallBody(op, attrs, inputs, outputs, ticket));
  if (table->is_on_host(op)) return launch_on_host(op, attrs, inputs, outputs, ticket);
  if (const KernelTable::Kernel* const kernel = table->find(op))
    return launch_kernel(*table, *kernel, op, attrs, inputs, outputs, ticket);
  if (op.pointwise && table->pointwise())
    return (*table->pointwise())(op, attrs, static_cast<ComputeType>(ticket), inputs, outputs);
  fail(ErrorKind::kRuntime, "{}: there is no kernel for {}; copy its arrays to the host with as_in_context(cpu())",
       op.shown_name(), to_string(device));
}

}  // namespace headrace
