#include "backend/cuda/cuda_module.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "backend/cuda/compiler.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

class CudaModule final : public KernelModule, public std::enable_shared_from_this<CudaModule> {
 public:
  CudaModule(CudaDevice& device, CompiledSource compiled)
      : device_(device), handle_(load_image(device, compiled.image)), names_(std::move(compiled.names)) {}
  ~CudaModule() override { unload(); }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  std::shared_ptr<const DeviceKernel> find(const std::string& name) override;

 private:
  // Whoever launched a kernel keeps the module until that is over.
  void unload() noexcept {
    if (cuda_backend().refusal()) return;  // in a child of fork(), where the driver takes no calls
    try {
      const ContextScope scope(device_);
      const std::lock_guard guard(gang_lock());
      device_.note(device_.driver().module_unload(handle_), "cuModuleUnload");
    } catch (const Error&) {  // the device is lost, and the module with it
      return;
    }
  }

  CudaDevice& device_;
  CUmodule const handle_;
  const std::map<std::string, std::string> names_;
};

class CudaKernelFunction final : public DeviceKernel {
 public:
  CudaKernelFunction(std::shared_ptr<const CudaModule> module, CudaDevice& device, CUfunction function)
      : module_(std::move(module)), device_(device), function_(function) {}

  void launch(const LaunchExtents& extents, std::span<const std::byte> arguments) const override {
    allow_shared(extents.shared_bytes);
    current_cuda_stream().put_kernel(function_, extents, arguments);
  }

 private:
  // What makes more than 48 KiB together with what the kernel declares it gets only when it was announced. The launch
  // threads of one device are one.
  void allow_shared(unsigned bytes) const {
    if (bytes <= allowed_.load(std::memory_order_relaxed)) return;
    device_.check(device_.driver().func_set_attribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                      static_cast<int>(bytes)),
                  "cuFuncSetAttribute");
    allowed_.store(bytes, std::memory_order_relaxed);
  }

  const std::shared_ptr<const CudaModule> module_;
  CudaDevice& device_;
  const CUfunction function_;
  mutable std::atomic<unsigned> allowed_{0};
};

std::shared_ptr<const DeviceKernel> CudaModule::find(const std::string& name) {
  const auto exported = names_.find(name);
  const std::string& lowered = exported == names_.end() ? name : exported->second;
  CUfunction function = nullptr;
  const CUresult result = find_function(device_, handle_, lowered.c_str(), function);
  if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
  device_.check(result, "cuModuleGetFunction");
  return std::make_shared<CudaKernelFunction>(shared_from_this(), device_, function);
}

}  // namespace

std::shared_ptr<KernelModule> load_module(CudaDevice& device, const KernelSource& source) {
  return std::make_shared<CudaModule>(device, compile_source(source, device.compute_capability()));
}

}  // namespace headrace
