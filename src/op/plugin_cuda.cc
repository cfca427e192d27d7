// The plug-in for NVIDIA's GPUs: what it serves, and with which kernels.
#include <array>

#include "backend/cuda/cuda_backend.h"
#include "device/plugin.h"
#include "op/catalogue.h"
#include "op/copy_part.h"
#include "op/formula_part.h"
#include "op/kernel_table.h"
#include "op/pointwise_cuda.h"

namespace headrace {

void add_cuda_kernels(KernelTable& table);  // all of src/ops, see cmake/cuda.cmake

namespace {

// Formulas run on the GPU, and so does what add_cuda_kernels() adds; the rest on the host.
const KernelTable& kernels() {
  static const KernelTable& table = []() -> const KernelTable& {
    KernelTable& made = *new KernelTable;
    made.set_pointwise(launch_pointwise_cuda);
    made.set_part(copy_elements, copy_elements_cuda);
    made.set_part(compute_formula, compute_formula_cuda);
    for (const OpDef& op : catalogue().all())
      if (op.as_view && op.kernel) made.set_own_kernel(op);  // what is no view is a copy
    made.set_own_kernels({"_contiguous", "_np_flatten", "_basic_index_assign", "broadcast_to", "_npi_broadcast_to",
                          "broadcast_axis", "tile", "repeat", "Concat", "_rnn_param_concat", "stack", "_npi_stack",
                          "add_n"});
    add_cuda_kernels(made);
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
