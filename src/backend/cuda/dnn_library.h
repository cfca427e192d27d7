// cuDNN's backend interface, and its descriptors as objects. Only where its headers are.
#pragma once

#include <cudnn_graph.h>

#include <span>
#include <string>
#include <utility>

#include "headrace/device.hpp"

namespace headrace {

class CudaStream;

struct DnnLibrary {
  void* library;  // as dlsym() takes it
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnGetErrorString) get_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};

// Null: there is none, which is said once. Any thread.
const DnnLibrary* dnn_library();

// The first call that failed, and what it answered.
struct DnnStatus {
  const char* call = "";
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

  bool is_good() const noexcept { return status == CUDNN_STATUS_SUCCESS; }
  std::string text() const;
};

// Raises Error(kRuntime) for what has failed on a device.
void check_dnn(Device device, const DnnStatus& status);
// What the handle is given next goes on the stream. Raises Error(kRuntime).
void use_stream(cudnnHandle_t handle, CudaStream& stream);

// Owns a descriptor. Calls after one that failed do nothing, so that whoever builds one asks at the end.
class DnnDescriptor {
 public:
  explicit DnnDescriptor(cudnnBackendDescriptorType_t type);
  ~DnnDescriptor();
  DnnDescriptor(DnnDescriptor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), status_(other.status_) {}
  DnnDescriptor(const DnnDescriptor&) = delete;
  DnnDescriptor& operator=(const DnnDescriptor&) = delete;
  DnnDescriptor& operator=(DnnDescriptor&&) = delete;

  template <class T>
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::span<const T> values) {
    set_bytes(name, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set_bytes(name, type, 1, &value);
  }
  // Another descriptor, which stays the caller's and must be finished; what failed there failed here.
  void set(cudnnBackendAttributeName_t name, const DnnDescriptor& value);
  void finish();

  // Of one that is finished: how many values there are; as many as there is room for are written.
  int64_t get_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room, void* values);
  template <class T>
  T get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    T value{};
    get_bytes(name, type, 1, &value);
    return value;
  }

  cudnnBackendDescriptor_t handle() const noexcept { return handle_; }
  const DnnStatus& status() const noexcept { return status_; }

 private:
  void set_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  void note(cudnnStatus_t status, const char* call) noexcept;

  cudnnBackendDescriptor_t handle_ = nullptr;
  DnnStatus status_;
};

}  // namespace headrace
