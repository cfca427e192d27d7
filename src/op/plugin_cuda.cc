// The plug-in for NVIDIA's GPUs: what it serves, and with which kernels.
#include <array>

#include "backend/cuda/cuda_backend.h"
#include "device/plugin.h"
#include "op/catalogue.h"
#include "op/pointwise_cuda.h"

namespace headrace {
namespace {

// Formulas run on the GPU; what has no kernel of its own there, on the host.
const KernelTable& kernels() {
  static const KernelTable& table = []() -> const KernelTable& {
    KernelTable& made = *new KernelTable;
    made.set_pointwise(launch_pointwise_cuda);
    made.set(find_op("_contiguous"), launch_packed_copy_cuda);
    made.set(find_op("_reshape_to"), launch_packed_copy_cuda);
    for (const OpDef& op : catalogue().all())
      if (op.kernel && !op.pointwise && !made.find(op)) made.set_on_host(op);
    return made;
  }();
  return table;
}

}  // namespace
}  // namespace headrace

extern "C" [[gnu::visibility("default")]] const headrace::BackendLibrary* headrace_backends() {
  using namespace headrace;
  static const std::array entries = {BackendEntry{DeviceType::kGpu, &cuda_backend(), kernels},
                                     BackendEntry{DeviceType::kCpuPinned, &pinned_backend()}};
  static const BackendLibrary library = {.backends = []() -> std::span<const BackendEntry> { return entries; }};
  return &library;
}
