#include "backend/cuda/launch_graphs.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "base/log.h"
#include "device/scratch.h"

namespace headrace {
namespace {

constexpr size_t kMostGraphs = 8, kMostSeen = 8;  // of one recurrence
constexpr int kMostFailures = 2;
constexpr int kTrials = 16;          // captures after which replays have to be more than captures
constexpr size_t kLeastNodes = 4;    // fewer are launched as fast one by one
constexpr size_t kMostScratch = 32;  // the part of the device's memory that graphs may keep, as a divisor

}  // namespace

// What was captured, and what it needs whenever it runs. Held by the work that it was put on the stream for, so it
// lasts until no stream runs it.
class LaunchGraph {
 public:
  LaunchGraph(CudaDevice& device, std::shared_ptr<std::atomic<size_t>> kept_bytes)
      : device_(device), scratch_(device.device()), kept_bytes_(std::move(kept_bytes)) {}
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  ~LaunchGraph() {
    *kept_bytes_ -= counted_;
    if (!exec_) return;
    try {
      const ContextScope context(device_);
      device_.note(device_.driver().graph_exec_destroy(exec_), "cuGraphExecDestroy");
    } catch (const std::exception&) {  // the device is lost
      return;
    }
  }

  // The notes become something that runs, unless they are not worth it or keep too much memory.
  bool instantiate(CUgraph notes) {
    size_t nodes = 0;
    const CudaDriver& driver = device_.driver();
    device_.check(driver.graph_get_nodes(notes, nullptr, &nodes), "cuGraphGetNodes");
    const size_t most = static_cast<size_t>(device_.memory_bytes()) / kMostScratch;
    if (nodes < kLeastNodes || *kept_bytes_ + scratch_.bytes() > most) return false;
    {
      const std::lock_guard taking_memory(gang_lock());
      device_.check(driver.graph_instantiate(&exec_, notes, 0), "cuGraphInstantiateWithFlags");
    }
    counted_ = scratch_.bytes();
    *kept_bytes_ += counted_;
    return true;
  }

  CUgraphExec exec() const noexcept { return exec_; }
  Scratch& scratch() noexcept { return scratch_; }
  void hold(std::shared_ptr<const void> object) { held_.push_back(std::move(object)); }

 private:
  CudaDevice& device_;
  CUgraphExec exec_ = nullptr;
  Scratch scratch_;
  std::vector<std::shared_ptr<const void>> held_;
  const std::shared_ptr<std::atomic<size_t>> kept_bytes_;
  size_t counted_ = 0;
};

namespace {

// The work whose launches are captured: what it takes belongs to the graph. Code of the host would run once only.
class CapturedWork final : public Work, public Recorder {
 public:
  explicit CapturedWork(LaunchGraph& graph) noexcept : graph_(graph) {}

  const char* name() const noexcept override { return "capture"; }
  void launch() noexcept override {}
  bool begin() noexcept override { return true; }
  void end() noexcept override {}
  void ran(const timeline::Track&, uint64_t, uint64_t) noexcept override {}
  void fail(std::exception_ptr) noexcept override {}  // of device code, of which none runs
  void* take_scratch(size_t bytes) override { return graph_.scratch().take(bytes); }
  void give_back_scratch(void* block) noexcept override { graph_.scratch().give_back(block); }
  void hold(std::shared_ptr<const void> object) override { graph_.hold(std::move(object)); }
  bool make_room() noexcept override { return false; }

  void put(std::span<const void* const>, std::unique_ptr<DeviceCode>) override {
    throw Error(ErrorKind::kRuntime, "code of the host cannot be captured");
  }

 private:
  LaunchGraph& graph_;
};

// What a capture gives, before it can run.
class Notes {
 public:
  Notes(CudaDevice& device, CUgraph graph) noexcept : device_(device), graph_(graph) {}
  ~Notes() {
    if (graph_) device_.note(device_.driver().graph_destroy(graph_), "cuGraphDestroy");
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  CUgraph graph() const noexcept { return graph_; }

 private:
  CudaDevice& device_;
  CUgraph const graph_;
};

}  // namespace

// Where arguments hardly come again, capturing costs more than it saves.
bool LaunchGraphs::Known::is_worth_capturing() const noexcept {
  return failures < kMostFailures && (captures < kTrials || replays > captures);
}

LaunchGraphs::Known& LaunchGraphs::known_as(const RecurrencePtr& what) {
  if (const auto place = known_.find(what.get()); place != known_.end() && place->second.what.lock() == what)
    return place->second;
  forget_what_has_gone();
  return known_[what.get()] = {.what = what};  // another one may have had that address
}

void LaunchGraphs::forget_what_has_gone() {
  std::erase_if(known_, [](const auto& entry) { return entry.second.what.expired(); });
}

// Remembers them otherwise.
bool LaunchGraphs::has_seen(Known& known, std::span<const uint64_t> arguments) {
  std::vector<Arguments>& seen = known.seen;
  const auto place =
      std::ranges::find_if(seen, [&](const Arguments& one) { return std::ranges::equal(one, arguments); });
  if (place != seen.end()) {
    seen.erase(place);
    return true;
  }
  if (seen.size() == kMostSeen) seen.pop_back();
  seen.emplace(seen.begin(), arguments.begin(), arguments.end());
  return false;
}

void LaunchGraphs::recur(const RecurrencePtr& what, std::span<const uint64_t> arguments, FunctionRef<void()> launch) {
  Known& known = known_as(what);
  std::vector<Captured>& captured = known.captured;
  const auto place =
      std::ranges::find_if(captured, [&](const Captured& one) { return std::ranges::equal(one.arguments, arguments); });
  const bool is_known = place != captured.end();
  if (is_known) {
    std::rotate(captured.begin(), place, place + 1);
  } else {
    if (!known.is_worth_capturing() || !has_seen(known, arguments)) return launch();
    GraphPtr made = capture(launch);
    if (!made) {
      ++known.failures;
      return launch();
    }
    if (captured.size() == kMostGraphs) captured.pop_back();
    captured.insert(captured.begin(), {{arguments.begin(), arguments.end()}, std::move(made)});
  }
  if (!put(captured.front().graph)) {
    captured.erase(captured.begin());
    ++known.failures;
    return launch();
  }
  ++(is_known ? known.replays : known.captures);
  std::atomic<int64_t>& count = is_known ? recurrence_counts().replayed : recurrence_counts().captured;
  count.fetch_add(1, std::memory_order_relaxed);
}

// Null: they cannot be captured, or it is not worth it. Nothing has run then.
LaunchGraphs::GraphPtr LaunchGraphs::capture(FunctionRef<void()> launch) {
  try {
    constexpr int kNormal = 0;
    if (!notes_)
      device_.check(device_.driver().stream_create_with_priority(&notes_, CU_STREAM_NON_BLOCKING, kNormal),
                    "cuStreamCreateWithPriority");
    const auto made = std::make_shared<LaunchGraph>(device_, kept_bytes_);
    const Notes notes(device_, record(*made, launch));
    if (made->instantiate(notes.graph())) return made;
  } catch (const Error& error) {
    log(LogLevel::kDebug, "cuda: launches are not captured: {}", error.what());
  }
  return nullptr;
}

// Raises Error where something is launched that cannot be captured.
CUgraph LaunchGraphs::record(LaunchGraph& made, FunctionRef<void()> launch) {
  const CudaDriver& driver = device_.driver();
  device_.check(driver.stream_begin_capture(notes_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  std::exception_ptr failure;
  {
    CapturedWork work(made);
    const StreamScope scope(stream_, work, &work);
    stream_.capturing_ = notes_;
    try {
      launch();
    } catch (...) {
      failure = std::current_exception();
    }
    stream_.capturing_ = nullptr;
  }
  CUgraph notes = nullptr;
  const CUresult ended = driver.stream_end_capture(notes_, &notes);
  if (failure) {
    const Notes useless(device_, notes);
    device_.note(ended, "cuStreamEndCapture");
    std::rethrow_exception(failure);
  }
  device_.check(ended, "cuStreamEndCapture");
  return notes;
}

// False: the driver does not take it.
bool LaunchGraphs::put(const GraphPtr& graph) {
  current_work()->hold(graph);
  const CUresult result = device_.driver().graph_launch(graph->exec(), stream_.handle());
  device_.note(result, "cuGraphLaunch");
  return result == CUDA_SUCCESS;
}

}  // namespace headrace
