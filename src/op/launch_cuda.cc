#include "op/launch_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "backend/cuda/compiler.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "device/scratch.h"
#include "op/kernel.h"

namespace headrace {
namespace {

constexpr int kBlocksPerCore = 32;  // more would only queue

// The kernels of one device, by their keys. The compiler knows them by their sources, which take longer to write.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, CUfunction> known;  // guarded by mutex
};

Kernels& kernels_of(const CudaDevice& device) {
  static auto& all = *new std::array<Kernels, Accelerator::kMost>;
  return all[static_cast<size_t>(device.device().id)];
}

}  // namespace

CudaDevice& current_cuda_device() noexcept { return static_cast<CudaDevice&>(current_stream()->accelerator()); }

KernelArguments& KernelArguments::add_bytes(const void* data, size_t size, size_t alignment) {
  bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  const auto* const first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
  return *this;
}

std::span<const std::byte> KernelArguments::bytes() {
  add_bytes(nullptr, 0, alignof(int64_t));
  return bytes_;
}

std::string_view KernelArguments::key() {
  const std::span<const std::byte> all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

int64_t blocks_for(int64_t pieces) {
  return std::clamp<int64_t>(pieces, 1, int64_t{current_cuda_device().processors()} * kBlocksPerCore);
}

KernelGrid grid_of(int64_t elements) {
  constexpr unsigned kThreads = 256;  // as in op/device/group.cuh
  return {blocks_for((elements + kThreads - 1) / kThreads), kThreads};
}

std::string kernel_name(std::string_view work) { return fmt::format("headrace_{}", work); }

void launch_cuda_source(std::string_view work, std::string_view key, FunctionRef<std::string()> source, KernelGrid grid,
                        std::span<const std::byte> arguments) {
  CudaDevice& device = current_cuda_device();
  CUfunction kernel = nullptr;
  {
    Kernels& all = kernels_of(device);
    const std::lock_guard guard(all.mutex);
    CUfunction& known = all.known[std::string(key)];
    if (!known) known = kernel_function(device, source(), kernel_name(work).c_str());
    kernel = known;
  }
  const LaunchExtents extents{.blocks = {static_cast<unsigned>(grid.blocks), 1, 1}, .threads = {grid.threads, 1, 1}};
  current_cuda_stream().put_kernel(kernel, extents, arguments);
}

LaunchScratch::~LaunchScratch() {
  for (const ScratchBlock& block : blocks_) give_back_scratch(block);
}

void* LaunchScratch::take(size_t bytes) {
  blocks_.reserve(blocks_.size() + 1);  // before what may not be lost
  blocks_.push_back(take_scratch(bytes));
  return blocks_.back().data;
}

const void* copy_to_device(KernelContext& context, std::span<const std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  const auto pinned = std::make_shared<PinnedBlock>(bytes.size());
  std::memcpy(pinned->data(), bytes.data(), bytes.size());
  current_work()->hold(pinned);
  void* const there = context.workspace(bytes.size());
  current_cuda_stream().copy({current_device(), there}, {{DeviceType::kCpuPinned, 0}, pinned->data()}, bytes.size());
  return there;
}

void read_on_host(const void* there, size_t bytes, std::function<void(const void* bytes)> use) {
  const auto here = std::make_shared<const PinnedBlock>(bytes);
  current_work()->hold(here);
  const Device gpu = current_device();
  current_cuda_stream().copy({{DeviceType::kCpuPinned, 0}, here->data()}, {gpu, const_cast<void*>(there)}, bytes);
  run_on_device({}, [here, use = std::move(use)] { use(here->data()); });
}

std::string source_of(const CudaKernel& kernel) {
  const std::string include = fmt::format("#define HEADRACE_DEVICE_CODE\n#include \"{}\"\n", kernel.header);
  return include + fmt::format(R"(
extern "C" __global__ void {}(const headrace::device::{} arguments) {{
  using namespace headrace;
  device::{}(arguments);
}}
)",
                               kernel_name(kernel.work()), kernel.arguments, kernel.function);
}

std::string bits_name(DType dtype) { return fmt::format("uint{}_t", 8 * item_size(dtype)); }

const char* compute_name(DType dtype) { return dtype == DType::kFloat64 ? "double" : "float"; }

std::string element_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kFloat16:
      return "Float16";
    case DType::kBfloat16:
      return "Bfloat16";
    case DType::kBool:
      return "bool";
    default:
      return fmt::format("{}_t", dtype_name(dtype));
  }
}

}  // namespace headrace
