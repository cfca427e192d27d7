#include "backend/cuda/dnn_rnn.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "base/log.h"
#include "device/registry.h"

#if __has_include(<cudnn_adv.h>)

#include "backend/cuda/dnn_rnn_plan.h"

namespace headrace {
namespace {

class DeviceRnns {
 public:
  const DnnRnnPlan* find(CudaDevice& device, const DnnRnn& rnn) {
    const std::lock_guard guard(finding_);
    const auto [place, is_new] = plans_.try_emplace(rnn);
    if (is_new) place->second = made(device, rnn);
    return place->second ? &*place->second : nullptr;
  }

  // `put` is given the handle, whose stream it is.
  template <class Put>
  void run(CudaStream& stream, Put put) {
    auto& device = static_cast<CudaDevice&>(stream.accelerator());
    const ContextScope scope(device);
    const std::lock_guard guard(using_);
    use_stream(handle_, stream);
    check_dnn(device.device(), put(handle_));
  }

 private:
  std::optional<DnnRnnPlan> made(CudaDevice& device, const DnnRnn& rnn) {
    const ContextScope scope(device);
    const std::lock_guard guard(using_);
    std::optional<DnnRnnPlan> plan;
    std::string why;
    if (!handle_) {
      const std::lock_guard taking_memory(gang_lock());
      const DnnStatus status{"cudnnCreate", dnn_library()->create(&handle_)};
      if (!status.is_good()) {
        handle_ = nullptr;
        why = status.text();
      }
    }
    if (handle_) plan = DnnRnnPlan::make(handle_, rnn, why);
    static std::atomic<bool> is_said{false};
    if (!plan)
      log(is_said.exchange(true) ? LogLevel::kInfo : LogLevel::kWarn,
          "cuda: recurrent layers of {} on {}, {} steps of {} with {} states, are computed step by step, which is "
          "slow: {}",
          dtype_name(rnn.dtype), to_string(device.device()), rnn.steps, rnn.batch, rnn.state, why);
    return plan;
  }

  std::mutex finding_, using_;                              // taken in this order
  std::map<DnnRnn, std::optional<DnnRnnPlan>> plans_ = {};  // guarded by finding_; none: the library has no plan
  cudnnHandle_t handle_ = nullptr;                          // guarded by using_
};

DeviceRnns& rnns_of(Device device) {
  static auto& all = *new std::array<DeviceRnns, Accelerator::kMost>;
  return all[static_cast<size_t>(device.id)];
}

}  // namespace

const DnnRnnPlan* find_rnn(Device device, const DnnRnn& rnn) {
  if (!dnn_rnn_library()) return nullptr;
  return rnns_of(device).find(static_cast<CudaDevice&>(*accelerator_of(device)), rnn);
}

const DnnRnnSizes& sizes_of(const DnnRnnPlan& plan) noexcept { return plan.sizes(); }

void put_rnn_forward(CudaStream& stream, const DnnRnnPlan& plan, const DnnRnnForward& pass) {
  rnns_of(stream.accelerator().device()).run(stream, [&](cudnnHandle_t handle) { return plan.forward(handle, pass); });
}

void put_rnn_backward(CudaStream& stream, const DnnRnnPlan& plan, const DnnRnnBackward& pass) {
  rnns_of(stream.accelerator().device()).run(stream, [&](cudnnHandle_t handle) { return plan.backward(handle, pass); });
}

}  // namespace headrace

#else

namespace headrace {

const DnnRnnPlan* find_rnn(Device, const DnnRnn&) { return nullptr; }

const DnnRnnSizes& sizes_of(const DnnRnnPlan&) noexcept {
  static const DnnRnnSizes none;
  return none;
}

void put_rnn_forward(CudaStream&, const DnnRnnPlan&, const DnnRnnForward&) {
  throw Error(ErrorKind::kRuntime, "there are no plans of cuDNN in this build");
}

void put_rnn_backward(CudaStream&, const DnnRnnPlan&, const DnnRnnBackward&) {
  throw Error(ErrorKind::kRuntime, "there are no plans of cuDNN in this build");
}

}  // namespace headrace

#endif
