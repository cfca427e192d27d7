#include "backend/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <optional>

#include "base/config.h"

namespace headrace {
namespace {

struct Loaded {
  std::optional<CudaDriver> driver;
  std::string why;
};

std::atomic<bool> was_asked{false};

// Looks functions up, and remembers the first that is missing.
class Lookup {
 public:
  explicit Lookup(decltype(&cuGetProcAddress) get) : get_(get) {}

  template <class Function>
  void operator()(Function& function, const char* name) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    const CUresult result = get_(name, &found, kOldestCuda, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if ((result != CUDA_SUCCESS || !found) && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(found);
  }
  const std::string& missing() const noexcept { return missing_; }

 private:
  decltype(&cuGetProcAddress) get_;
  std::string missing_;
};

void look_up_devices(Lookup& look_up, CudaDriver& driver) {
  look_up(driver.init, "cuInit");
  look_up(driver.driver_get_version, "cuDriverGetVersion");
  look_up(driver.get_error_name, "cuGetErrorName");
  look_up(driver.get_error_string, "cuGetErrorString");
  look_up(driver.device_get_count, "cuDeviceGetCount");
  look_up(driver.device_get, "cuDeviceGet");
  look_up(driver.device_get_attribute, "cuDeviceGetAttribute");
  look_up(driver.device_get_name, "cuDeviceGetName");
  look_up(driver.device_total_mem, "cuDeviceTotalMem");
  look_up(driver.device_get_uuid, "cuDeviceGetUuid");
  look_up(driver.device_can_access_peer, "cuDeviceCanAccessPeer");
  look_up(driver.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  look_up(driver.ctx_push_current, "cuCtxPushCurrent");
  look_up(driver.ctx_pop_current, "cuCtxPopCurrent");
  look_up(driver.ctx_get_current, "cuCtxGetCurrent");
  look_up(driver.ctx_enable_peer_access, "cuCtxEnablePeerAccess");
  look_up(driver.ctx_synchronize, "cuCtxSynchronize");
}

void look_up_memory(Lookup& look_up, CudaDriver& driver) {
  look_up(driver.mem_alloc, "cuMemAlloc");
  look_up(driver.mem_free, "cuMemFree");
  look_up(driver.mem_get_info, "cuMemGetInfo");
  look_up(driver.mem_host_alloc, "cuMemHostAlloc");
  look_up(driver.mem_free_host, "cuMemFreeHost");
  look_up(driver.memcpy_htod_async, "cuMemcpyHtoDAsync");
  look_up(driver.memcpy_dtoh_async, "cuMemcpyDtoHAsync");
  look_up(driver.memcpy_dtod_async, "cuMemcpyDtoDAsync");
  look_up(driver.memcpy_peer_async, "cuMemcpyPeerAsync");
}

void look_up_streams(Lookup& look_up, CudaDriver& driver) {
  look_up(driver.stream_create_with_priority, "cuStreamCreateWithPriority");
  look_up(driver.stream_query, "cuStreamQuery");
  look_up(driver.stream_wait_event, "cuStreamWaitEvent");
  look_up(driver.stream_write_value64, "cuStreamWriteValue64");
  look_up(driver.launch_host_func, "cuLaunchHostFunc");
  look_up(driver.event_create, "cuEventCreate");
  look_up(driver.event_record, "cuEventRecord");
  look_up(driver.event_elapsed_time, "cuEventElapsedTime");
}

void look_up_kernels(Lookup& look_up, CudaDriver& driver) {
  look_up(driver.module_load_data, "cuModuleLoadData");
  look_up(driver.module_get_function, "cuModuleGetFunction");
  look_up(driver.module_unload, "cuModuleUnload");
  look_up(driver.func_set_attribute, "cuFuncSetAttribute");
  look_up(driver.launch_kernel, "cuLaunchKernel");
}

void look_up_graphs(Lookup& look_up, CudaDriver& driver) {
  look_up(driver.stream_begin_capture, "cuStreamBeginCapture");
  look_up(driver.stream_end_capture, "cuStreamEndCapture");
  look_up(driver.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
  look_up(driver.graph_get_nodes, "cuGraphGetNodes");
  look_up(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  look_up(driver.graph_destroy, "cuGraphDestroy");
  look_up(driver.graph_launch, "cuGraphLaunch");
  look_up(driver.graph_exec_destroy, "cuGraphExecDestroy");
}

std::string text_of(const CudaDriver& driver, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver.get_error_name(result, &name);
  driver.get_error_string(result, &text);
  return fmt::format("{} ({})", name ? name : "an unknown error", text ? text : std::to_string(result));
}

// A library that does not answer cuInit as it should, such as the toolkit's stub, is no driver.
Loaded load_driver() {
  was_asked.store(true, std::memory_order_release);
  const std::string& path = config().cuda_driver;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* const why = dlerror();
    return {{}, fmt::format("NVIDIA's driver cannot be loaded: {}", why ? why : path)};
  }
  const auto get = reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(library, "cuGetProcAddress_v2"));
  if (!get) return {{}, fmt::format("{} is older than CUDA 12.0; update NVIDIA's driver", path)};
  CudaDriver driver{};
  Lookup look_up(get);
  look_up_devices(look_up, driver);
  look_up_memory(look_up, driver);
  look_up_streams(look_up, driver);
  look_up_kernels(look_up, driver);
  look_up_graphs(look_up, driver);
  if (!look_up.missing().empty())
    return {{},
            fmt::format("{} has no {} of CUDA {}.{}; update NVIDIA's driver", path, look_up.missing(),
                        kOldestCuda / 1000, kOldestCuda % 1000 / 10)};
  if (const CUresult result = driver.init(0); result != CUDA_SUCCESS)
    return {{}, fmt::format("NVIDIA's driver does not start: {}", text_of(driver, result))};
  return {driver, ""};
}

const Loaded& loaded() {
  static const Loaded& instance = *new Loaded(load_driver());  // tasks may run at exit
  return instance;
}

}  // namespace

const CudaDriver* cuda_driver() { return loaded().driver ? &*loaded().driver : nullptr; }

int newest_cuda() {
  constexpr int kPerMajor = 1000;
  int version = 0;
  const CudaDriver* const driver = cuda_driver();
  if (!driver || driver->driver_get_version(&version) != CUDA_SUCCESS) return std::numeric_limits<int>::max();
  return version / kPerMajor;
}

bool cuda_driver_was_asked() noexcept { return was_asked.load(std::memory_order_acquire); }

const std::string& why_no_cuda_driver() { return loaded().why; }

std::string cuda_error_text(CUresult result) { return text_of(*cuda_driver(), result); }

}  // namespace headrace
