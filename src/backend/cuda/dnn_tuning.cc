#if __has_include(<cudnn_graph.h>)

#include "backend/cuda/dnn_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "base/check.h"
#include "base/log.h"

namespace headrace {
namespace {

constexpr int kRuns = 3;  // that are timed together, behind one that loads the plan's code

// Milliseconds between two points of a stream.
class StreamTimer {
 public:
  explicit StreamTimer(CudaStream& stream)
      : device_(static_cast<CudaDevice&>(stream.accelerator())), stream_(stream.handle()) {
    for (CUevent& event : events_)
      device_.check(device_.driver().event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  }

  void begin() { record(0); }
  // Waits until the stream has come here.
  float end() {
    record(1);
    constexpr std::chrono::microseconds kPause{20};
    float ms = 0;
    CUresult result = CUDA_ERROR_NOT_READY;
    while ((result = device_.driver().event_elapsed_time(&ms, events_[0], events_[1])) == CUDA_ERROR_NOT_READY)
      std::this_thread::sleep_for(kPause);
    device_.check(result, "cuEventElapsedTime");
    return ms;
  }

 private:
  void record(int which) { device_.check(device_.driver().event_record(events_[which], stream_), "cuEventRecord"); }

  CudaDevice& device_;
  const CUstream stream_;
  CUevent events_[2] = {};
};

// One for each device, which keeps its events.
StreamTimer& timer_of(CudaStream& stream) {
  check(!stream.is_capturing(), ErrorKind::kRuntime, "cuda: what is captured does not run, and takes no time");
  static auto& all = *new std::array<std::unique_ptr<StreamTimer>, Accelerator::kMost>;
  auto& own = all[static_cast<size_t>(stream.accelerator().device().id)];
  if (!own) own = std::make_unique<StreamTimer>(stream);
  return *own;
}

}  // namespace

size_t fastest_plan(CudaStream& stream, cudnnHandle_t handle, std::span<const DnnPlan> plans,
                    const DnnConvolution& convolution, FunctionRef<void*(size_t)> workspace) {
  size_t bytes = 0;
  for (const DnnPlan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes());
  void* const scratch = bytes > 0 ? workspace(bytes) : nullptr;
  StreamTimer& timer = timer_of(stream);
  size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < plans.size(); ++i) {
    DnnStatus status = plans[i].execute(handle, convolution, scratch);
    timer.begin();
    for (int run = 0; run < kRuns && status.is_good(); ++run) status = plans[i].execute(handle, convolution, scratch);
    const float ms = timer.end() / kRuns;
    log(LogLevel::kDebug, "cuda: plan {} of a convolution of {} with {}: {}", i, to_string(convolution.x.shape),
        to_string(convolution.w.shape), status.is_good() ? fmt::format("{:.4f} ms", ms) : status.text());
    if (!status.is_good() || ms >= least) continue;
    least = ms;
    best = i;
  }
  return best;
}

}  // namespace headrace

#endif
