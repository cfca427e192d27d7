// Launches of one stream that come again (see Stream::recur()), as CUDA graphs. What is put on the stream is captured
// when the arguments come a second time: the driver notes it on a stream on which nothing ever runs. From then on one
// call puts all of it on the stream. What cannot be captured is launched as ever.
//
// The launch thread's.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/cuda/driver.h"
#include "base/function_ref.h"
#include "device/recurrence.h"

namespace headrace {

class CudaDevice;
class CudaStream;
class LaunchGraph;

class LaunchGraphs {
 public:
  LaunchGraphs(CudaDevice& device, CudaStream& stream) noexcept : device_(device), stream_(stream) {}

  void recur(const RecurrencePtr& what, std::span<const uint64_t> arguments, FunctionRef<void()> launch);

 private:
  using GraphPtr = std::shared_ptr<const LaunchGraph>;
  using Arguments = std::vector<uint64_t>;
  struct Captured {
    Arguments arguments;
    GraphPtr graph;
  };
  // The newest and the last used come first.
  struct Known {
    std::weak_ptr<const Recurrence> what;
    std::vector<Captured> captured;
    std::vector<Arguments> seen;
    int captures = 0, replays = 0, failures = 0;

    bool is_worth_capturing() const noexcept;
  };

  Known& known_as(const RecurrencePtr& what);
  void forget_what_has_gone();
  bool has_seen(Known& known, std::span<const uint64_t> arguments);
  GraphPtr capture(FunctionRef<void()> launch);
  CUgraph record(LaunchGraph& made, FunctionRef<void()> launch);
  bool put(const GraphPtr& graph);

  CudaDevice& device_;
  CudaStream& stream_;
  CUstream notes_ = nullptr;  // on which launches are captured; null: not needed yet
  std::shared_ptr<std::atomic<size_t>> kept_bytes_ = std::make_shared<std::atomic<size_t>>(0);  // scratch of all graphs
  std::unordered_map<const Recurrence*, Known> known_;
};

}  // namespace headrace
