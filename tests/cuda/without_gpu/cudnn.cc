// The real cuDNN for a machine without a GPU: it plans for one whose properties are written here, an H100. Whoever asks
// this library for plans gets those of cuDNN; they cannot be executed.
#include <cudnn_graph.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "tests/cuda/without_gpu/real.h"

namespace {

constexpr std::string_view kProperties = R"({
  "deviceVer": 900, "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "regsPerBlock": 65536,
  "totalGlobalMem": 85899345920, "smClockRateKHz": 1980000, "l2CacheSize": 52428800, "maxBlockSize": [1024, 1024, 64],
  "memClockRateKHz": 2619000, "maxGridSize": [2147483647, 65535, 65535], "supportCoopLaunch": 1, "pciDeviceId": 0,
  "isTccDriver": 0, "cudaDeviceId": 0, "driverVer": 13000, "deviceName": "NVIDIA H100 80GB HBM3"})";

cudnnBackendDescriptor_t properties() {
  static const cudnnBackendDescriptor_t made = [] {
    cudnnBackendDescriptor_t descriptor = nullptr;
    const bool is_made =
        REAL(cudnnBackendCreateDescriptor)(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &descriptor) == CUDNN_STATUS_SUCCESS &&
        REAL(cudnnBackendSetAttribute)(descriptor, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                       static_cast<int64_t>(kProperties.size()),
                                       kProperties.data()) == CUDNN_STATUS_SUCCESS &&
        REAL(cudnnBackendFinalize)(descriptor) == CUDNN_STATUS_SUCCESS;
    if (!is_made) std::abort();
    return descriptor;
  }();
  return made;
}

// Heuristics, which take the properties before they are finished.
struct Heuristics {
  std::mutex mutex;
  std::set<cudnnBackendDescriptor_t> known;  // guarded by mutex
};
Heuristics& heuristics() {
  static auto& all = *new Heuristics;
  return all;
}

cudnnStatus_t set_properties(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name) {
  const cudnnBackendDescriptor_t value = properties();
  return REAL(cudnnBackendSetAttribute)(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

}  // namespace

WITHOUT_GPU_API size_t cudnnGetVersion() { return REAL(cudnnGetVersion)(); }

WITHOUT_GPU_API const char* cudnnGetErrorString(cudnnStatus_t status) { return REAL(cudnnGetErrorString)(status); }

WITHOUT_GPU_API cudnnStatus_t cudnnCreate(cudnnHandle_t*) { return CUDNN_STATUS_NOT_INITIALIZED; }

WITHOUT_GPU_API cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_NOT_INITIALIZED; }

WITHOUT_GPU_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}

WITHOUT_GPU_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                           cudnnBackendDescriptor_t* descriptor) {
  const cudnnStatus_t status = REAL(cudnnBackendCreateDescriptor)(type, descriptor);
  Heuristics& all = heuristics();
  const std::lock_guard guard(all.mutex);
  if (type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) all.known.insert(*descriptor);
  return status;
}

WITHOUT_GPU_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  {
    Heuristics& all = heuristics();
    const std::lock_guard guard(all.mutex);
    all.known.erase(descriptor);
  }
  return REAL(cudnnBackendDestroyDescriptor)(descriptor);
}

WITHOUT_GPU_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                       cudnnBackendAttributeName_t name,
                                                       cudnnBackendAttributeType_t type, int64_t count,
                                                       const void* values) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) return set_properties(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  return REAL(cudnnBackendSetAttribute)(descriptor, name, type, count, values);
}

WITHOUT_GPU_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  bool needs_properties = false;
  {
    Heuristics& all = heuristics();
    const std::lock_guard guard(all.mutex);
    needs_properties = all.known.contains(descriptor);
  }
  if (needs_properties) {
    const cudnnStatus_t status = set_properties(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return REAL(cudnnBackendFinalize)(descriptor);
}

WITHOUT_GPU_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                                       cudnnBackendAttributeName_t name,
                                                       cudnnBackendAttributeType_t type, int64_t room, int64_t* count,
                                                       void* values) {
  return REAL(cudnnBackendGetAttribute)(descriptor, name, type, room, count, values);
}
