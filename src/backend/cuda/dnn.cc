#include "backend/cuda/dnn.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/library.h"
#include "base/check.h"
#include "base/log.h"

#if __has_include(<cudnn_graph.h>)

#include "backend/cuda/dnn_plan.h"
#include "backend/cuda/dnn_tuning.h"
#include "base/config.h"

namespace headrace {
namespace {

// All that what the library says of a convolution depends on.
std::vector<int64_t> convolution_key(const DnnConvolution& c) {
  std::vector<int64_t> key{static_cast<int64_t>(c.pass), static_cast<int64_t>(c.dtype),
                           static_cast<int64_t>(c.x.shape.size())};
  for (const DnnTensor* tensor : {&c.x, &c.w, &c.y}) {
    key.insert(key.end(), tensor->shape.begin(), tensor->shape.end());
    key.insert(key.end(), tensor->strides.begin(), tensor->strides.end());
    key.push_back(
        static_cast<int64_t>(alignment_of(reinterpret_cast<uintptr_t>(tensor->data), DnnPlan::kMostAlignment)));
  }
  for (const Shape* numbers : {&c.stride, &c.dilate, &c.pad}) key.insert(key.end(), numbers->begin(), numbers->end());
  return key;
}

struct KeyHash {
  size_t operator()(const std::vector<int64_t>& key) const noexcept { return hash_of_shape(key); }
};

constexpr size_t kMostTried = 8;  // of the library's proposals, which come best first

// None: the library has no plan.
using Plans = std::unordered_map<std::vector<int64_t>, std::optional<DnnPlan>, KeyHash>;

struct DeviceDnn {
  enum class State : uint8_t { kNew, kOpen, kFailed } state = State::kNew;
  cudnnHandle_t handle = nullptr;
  Plans plans;
};

DeviceDnn& dnn_of(CudaDevice& device) {
  static auto& all = *new std::array<DeviceDnn, Accelerator::kMost>;
  DeviceDnn& own = all[static_cast<size_t>(device.device().id)];
  if (own.state != DeviceDnn::State::kNew) return own;
  const cudnnStatus_t status = [&own] {
    const std::lock_guard taking_memory(gang_lock());
    return dnn_library()->create(&own.handle);
  }();
  own.state = status == CUDNN_STATUS_SUCCESS ? DeviceDnn::State::kOpen : DeviceDnn::State::kFailed;
  if (own.state == DeviceDnn::State::kFailed)
    log(LogLevel::kWarn,
        "cuda: convolutions on {} are computed as products of matrices, which is slow: cudnnCreate answered {}. Is "
        "cuDNN made for the driver's version of CUDA?",
        to_string(device.device()), dnn_library()->get_error_string(status));
  return own;
}

void say_that_there_is_no_plan(const DnnConvolution& c, const std::string& why) {
  static std::atomic<bool> is_said{false};
  log(is_said.exchange(true) ? LogLevel::kInfo : LogLevel::kWarn,
      "cuda: a {} convolution of {} with {} is computed as products of matrices, which is slow: cuDNN has no plan for "
      "it, {}",
      dtype_name(c.dtype), to_string(c.x.shape), to_string(c.w.shape), why);
}

}  // namespace

const DnnPlan* find_convolution(CudaStream& stream, const DnnConvolution& convolution,
                                FunctionRef<void*(size_t)> workspace) {
  if (!dnn_library()) return nullptr;
  auto& device = static_cast<CudaDevice&>(stream.accelerator());
  const ContextScope scope(device);
  DeviceDnn& own = dnn_of(device);
  if (own.state == DeviceDnn::State::kFailed) return nullptr;
  std::vector<int64_t> key = convolution_key(convolution);
  auto known = own.plans.find(key);
  if (known == own.plans.end()) {
    std::string why;
    std::vector<DnnPlan> made =
        DnnPlan::candidates(own.handle, convolution, config().cuda_tuning ? kMostTried : 1, why);
    if (made.empty()) say_that_there_is_no_plan(convolution, why);
    size_t best = 0;
    if (made.size() > 1) {
      use_stream(own.handle, stream);
      best = fastest_plan(stream, own.handle, made, convolution, workspace);
    }
    known = own.plans.try_emplace(std::move(key)).first;  // what raises above may go well the next time
    if (!made.empty()) known->second.emplace(std::move(made[best]));
  }
  return known->second ? &*known->second : nullptr;
}

void put_convolution(CudaStream& stream, const DnnPlan& plan, const DnnConvolution& convolution,
                     FunctionRef<void*(size_t)> workspace) {
  auto& device = static_cast<CudaDevice&>(stream.accelerator());
  const ContextScope scope(device);
  const size_t bytes = plan.workspace_bytes();
  void* const scratch = bytes > 0 ? workspace(bytes) : nullptr;
  const cudnnHandle_t handle = dnn_of(device).handle;
  use_stream(handle, stream);
  check_dnn(device.device(), plan.execute(handle, convolution, scratch));
}

bool has_dnn() { return dnn_library() != nullptr; }

}  // namespace headrace

#else

namespace headrace {

const DnnPlan* find_convolution(CudaStream&, const DnnConvolution&, FunctionRef<void*(size_t)>) {
  static const bool is_said = [] {
    log(LogLevel::kWarn,
        "cuda: convolutions are computed as products of matrices, which is slow: this build knows nothing of cuDNN, "
        "whose headers were not there.");
    return true;
  }();
  static_cast<void>(is_said);
  return nullptr;
}

void put_convolution(CudaStream&, const DnnPlan&, const DnnConvolution&, FunctionRef<void*(size_t)>) {
  throw Error(ErrorKind::kRuntime, "there are no plans of cuDNN in this build");
}

bool has_dnn() { return false; }

}  // namespace headrace

#endif
