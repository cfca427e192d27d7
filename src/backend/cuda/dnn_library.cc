#if __has_include(<cudnn_graph.h>)

#include "backend/cuda/dnn_library.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/library.h"
#include "base/check.h"
#include "base/config.h"
#include "base/log.h"

namespace headrace {
namespace {

constexpr size_t kOldestDnn = 90000, kTooNewDnn = 100000;  // as cudnnGetVersion() counts

// None: `why` says it.
std::optional<DnnLibrary> load_dnn(std::string& why) {
  const std::string chosen = config().cuda_dnn;
  const std::vector<std::string> names{chosen.empty() ? "libcudnn.so.9" : chosen};
  void* const library = open_first_library(names, why);
  if (!library) return {};
  DnnLibrary made{};
  made.library = library;
  const auto look_up = functions_of(library, why);
  look_up(made.get_version, "cudnnGetVersion");
  look_up(made.get_error_string, "cudnnGetErrorString");
  look_up(made.create, "cudnnCreate");
  look_up(made.set_stream, "cudnnSetStream");
  look_up(made.create_descriptor, "cudnnBackendCreateDescriptor");
  look_up(made.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  look_up(made.set_attribute, "cudnnBackendSetAttribute");
  look_up(made.get_attribute, "cudnnBackendGetAttribute");
  look_up(made.finalize, "cudnnBackendFinalize");
  look_up(made.execute, "cudnnBackendExecute");
  if (why.empty() && (made.get_version() < kOldestDnn || made.get_version() >= kTooNewDnn))
    why = fmt::format("the library has version {}, but one of cuDNN 9 is needed", made.get_version());
  if (why.empty()) return made;
  return {};
}

}  // namespace

const DnnLibrary* dnn_library() {
  static const std::optional<DnnLibrary>& loaded = *new std::optional<DnnLibrary>([] {
    std::string why;
    std::optional<DnnLibrary> made = load_dnn(why);
    if (!made)
      log(LogLevel::kWarn,
          "cuda: convolutions are computed as products of matrices, recurrent layers step by step, which is slow: {}. "
          "Install NVIDIA's cuDNN (pip install nvidia-cudnn-cu13).",
          why);
    return made;
  }());
  return loaded ? &*loaded : nullptr;
}

std::string DnnStatus::text() const {
  return fmt::format("{} answered {}", call, dnn_library()->get_error_string(status));
}

void check_dnn(Device device, const DnnStatus& status) {
  check(status.is_good(), ErrorKind::kRuntime, "{}: {}", to_string(device), status.text());
}

void use_stream(cudnnHandle_t handle, CudaStream& stream) {
  check_dnn(stream.accelerator().device(), {"cudnnSetStream", dnn_library()->set_stream(handle, stream.handle())});
}

DnnDescriptor::DnnDescriptor(cudnnBackendDescriptorType_t type) {
  note(dnn_library()->create_descriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

DnnDescriptor::~DnnDescriptor() {
  if (handle_) static_cast<void>(dnn_library()->destroy_descriptor(handle_));
}

void DnnDescriptor::set_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                              const void* values) {
  if (status_.is_good())
    note(dnn_library()->set_attribute(handle_, name, type, count, values), "cudnnBackendSetAttribute");
}

void DnnDescriptor::set(cudnnBackendAttributeName_t name, const DnnDescriptor& value) {
  if (status_.is_good()) status_ = value.status_;
  set_bytes(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
}

void DnnDescriptor::finish() {
  if (status_.is_good()) note(dnn_library()->finalize(handle_), "cudnnBackendFinalize");
}

int64_t DnnDescriptor::get_bytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                                 void* values) {
  int64_t count = 0;
  if (status_.is_good())
    note(dnn_library()->get_attribute(handle_, name, type, room, &count, values), "cudnnBackendGetAttribute");
  return status_.is_good() ? count : 0;
}

void DnnDescriptor::note(cudnnStatus_t status, const char* call) noexcept {
  if (status != CUDNN_STATUS_SUCCESS) status_ = {call, status};
}

}  // namespace headrace

#endif
