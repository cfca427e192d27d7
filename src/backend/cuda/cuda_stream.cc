#include "backend/cuda/cuda_stream.h"

#include <chrono>
#include <thread>
#include <utility>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/launch_graphs.h"
#include "backend/cuda/pinned_memory.h"
#include "backend/cuda/profiler_range.h"
#include "backend/cuda/staged_copies.h"
#include "backend/cuda/stream_times.h"
#include "base/check.h"
#include "base/config.h"
#include "device/registry.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

CUdeviceptr address_of(const void* pointer) noexcept { return reinterpret_cast<CUdeviceptr>(pointer); }

CudaDevice& cuda_device(Device device) { return static_cast<CudaDevice&>(*accelerator_of(device)); }

bool is_pinned(const MemoryBlock& block) noexcept { return block.device.type == DeviceType::kCpuPinned; }

}  // namespace

CudaStream& current_cuda_stream() noexcept { return static_cast<CudaStream&>(*current_stream()); }

CudaStream::CudaStream(CudaDevice& device, StreamRole role, int index, std::optional<Device> source) noexcept
    : Stream(device, role, index, source), device_(device) {}

// Copies and communication go before computing: they are what something else waits for.
void CudaStream::open() {
  if (counter_.load(std::memory_order_relaxed)) return;
  const CudaDriver& driver = device_.driver();
  constexpr int kHigh = -1, kNormal = 0;
  if (!handle_)
    device_.check(driver.stream_create_with_priority(&handle_, CU_STREAM_NON_BLOCKING,
                                                     role() == StreamRole::kCompute ? kNormal : kHigh),
                  "cuStreamCreateWithPriority");
  for (Mark& mark : marks_)
    if (!mark.event) device_.check(driver.event_create(&mark.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  auto* const counter = static_cast<uint64_t*>(pinned_memory().allocate(sizeof(uint64_t)));
  *counter = 0;
  counter_.store(counter, std::memory_order_release);
}

// What run_on_device() gives while work is launched.
struct CudaStream::Recording final : Recorder {
  explicit Recording(CudaStream& of) : stream(of) {}
  void put(std::span<const void* const>, std::unique_ptr<DeviceCode> code) override {
    stream.put_host_code(stream.handle_, std::move(code));
  }
  CudaStream& stream;
};

// The work is over for the stream when it has written its number or a later one. Where launching fails half-way what
// was put there already still runs, so the number counts all the same.
Event CudaStream::launch(Work& work) {
  const ContextScope context(device_);
  const ProfilerRange range(work.name());
  open();
  Recording recording(*this);
  bool is_timed = false;
  {
    const StreamScope scope(*this, work, &recording);
    if (work.begin()) {
      is_timed = begin_times(work);
      work.launch();
      if (!is_timed) work.end();
    }
  }
  const uint64_t number = launched_.load(std::memory_order_relaxed) + 1;
  if (is_timed) times_->end(number);
  launched_.store(number, std::memory_order_release);
  if (is_time_to_tell(number)) tell(number);
  return {this, number};
}

bool CudaStream::begin_times(Work& work) {
  if (!timeline::enabled()) [[likely]]
    return false;
  if (!times_) times_ = new StreamTimes(device_, *this);
  return times_->begin(work);
}

void CudaStream::report_times(uint64_t number) noexcept {
  if (times_) times_->report(number);
}

// What the work does while the timeline begins or ends has no times.
bool CudaStream::begin_part(timeline::Label label) { return times_ && !capturing_ && times_->begin_part(label); }

void CudaStream::end_part() noexcept { times_->end_part(); }

// Where the GPU is behind, the calls cost nothing, and whoever waits for one piece of work need not wait for the next.
bool CudaStream::is_time_to_tell(uint64_t number) noexcept {
  constexpr uint64_t kMostUntold = 4, kIsBehind = 2 * kMostUntold;
  return number - told_.load(std::memory_order_relaxed) >= kMostUntold || number - completed() > kIsBehind;
}

void CudaStream::tell(uint64_t number) noexcept {
  if (told_.load(std::memory_order_acquire) >= number) return;
  const std::lock_guard guard(telling_);
  if (told_.load(std::memory_order_relaxed) >= number) return;
  try {
    write_number();
  } catch (...) {  // the device is lost
    return;
  }
}

// What is launched meanwhile may be put on the stream before or behind the number, both of which are true. A stream
// that does not take the number tells nobody when its work ends, and its device cannot be used.
void CudaStream::write_number() {
  const ContextScope context(device_);
  const CudaDriver& driver = device_.driver();
  const uint64_t reached = launched_.load(std::memory_order_acquire);
  const CUresult written = driver.stream_write_value64(handle_, address_of(const_cast<uint64_t*>(counter_.load())),
                                                       reached, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (written != CUDA_SUCCESS) device_.lose(written, "cuStreamWriteValue64");
  newest_ = (newest_ + 1) % kMarks;
  marks_[newest_].number = reached;
  const CUresult recorded = driver.event_record(marks_[newest_].event, handle_);
  if (recorded != CUDA_SUCCESS) device_.lose(recorded, "cuEventRecord");
  told_.store(reached, std::memory_order_release);
}

void CudaStream::tell_all() noexcept { tell(launched_.load(std::memory_order_relaxed)); }

// For the oldest mark behind the event.
void CudaStream::wait(Event event) {
  auto& other = static_cast<CudaStream&>(*event.stream);
  if (other.completed() >= event.number) return;
  const ContextScope context(device_);
  open();
  other.tell(event.number);
  const std::lock_guard guard(other.telling_);
  size_t oldest = other.newest_;
  for (size_t back = 1; back < kMarks; ++back) {
    const size_t place = (other.newest_ + kMarks - back) % kMarks;
    if (other.marks_[place].number < event.number) break;
    oldest = place;
  }
  device_.check(device_.driver().stream_wait_event(handle_, other.marks_[oldest].event, 0), "cuStreamWaitEvent");
}

uint64_t CudaStream::completed() noexcept {
  const volatile uint64_t* const counter = counter_.load(std::memory_order_acquire);
  return counter ? __atomic_load_n(counter, __ATOMIC_ACQUIRE) : 0;
}

// On a lost device the driver begins no more of the host's code, but what it has begun goes on.
void CudaStream::synchronize(uint64_t number) noexcept {
  constexpr int kSpins = 1000;
  tell(number);
  constexpr auto kPause = std::chrono::microseconds(20);
  for (int looks = 0; completed() < number && !device_.lost(); ++looks) {
    if (looks < kSpins) continue;
    ask_for_errors();
    std::this_thread::sleep_for(kPause);
  }
  while (completed() < number && running_.load(std::memory_order_acquire) > 0) std::this_thread::sleep_for(kPause);
}

// Whatever else a stream answers, its work will not end.
void CudaStream::ask_for_errors() noexcept {
  try {
    const ContextScope context(device_);
    const CUresult answer = device_.driver().stream_query(handle_);
    if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_NOT_READY) device_.lose(answer, "cuStreamQuery");
  } catch (...) {  // the device is lost
    return;
  }
}

// Owned by the stream's queue until it has run.
class CudaStream::HostCode {
 public:
  HostCode(CudaStream& stream, Work& work, std::unique_ptr<DeviceCode> code)
      : stream_(stream), work_(work), code_(std::move(code)) {}

  static void run(void* self) noexcept {
    std::unique_ptr<HostCode> code(static_cast<HostCode*>(self));
    CudaStream& stream = code->stream_;
    stream.running_.fetch_add(1, std::memory_order_acq_rel);
    try {
      code->code_->run();
    } catch (...) {
      code->work_.fail(std::current_exception());
    }
    code.reset();
    stream.running_.fetch_sub(1, std::memory_order_acq_rel);
  }

 private:
  CudaStream& stream_;
  Work& work_;
  std::unique_ptr<DeviceCode> code_;
};

// What the host does once is not there to be done again.
void CudaStream::put_host_code(CUstream where, std::unique_ptr<DeviceCode> code) {
  check(!capturing_, ErrorKind::kRuntime, "{}: code of the host cannot be captured", to_string(device_.device()));
  auto host = std::make_unique<HostCode>(*this, *current_work(), std::move(code));
  device_.check(device_.driver().launch_host_func(where, &HostCode::run, host.get()), "cuLaunchHostFunc");
  static_cast<void>(host.release());
}

void CudaStream::copy(MemoryBlock to, MemoryBlock from, size_t bytes) {
  if (bytes == 0) return;
  const CudaDriver& driver = device_.driver();
  if (to.device == from.device)
    return device_.check(driver.memcpy_dtod_async(address_of(to.address), address_of(from.address), bytes, handle()),
                         "cuMemcpyDtoDAsync");
  check(!capturing_, ErrorKind::kRuntime, "{}: copies from or to another device cannot be captured",
        to_string(device_.device()));
  if (!to.device.is_host() && !from.device.is_host()) {
    CudaDevice &target = cuda_device(to.device), &source = cuda_device(from.device);
    target.allow_peer(source);
    return device_.check(driver.memcpy_peer_async(address_of(to.address), target.context(), address_of(from.address),
                                                  source.context(), bytes, handle_),
                         "cuMemcpyPeerAsync");
  }
  const bool to_device = from.device.is_host();
  // Memory that is not pinned the driver would copy at once, while the caller waits; but another stream may still be
  // writing it.
  if (!is_pinned(to_device ? from : to))
    return to_device ? staged_copies().to_device(*this, address_of(to.address), from.address, bytes)
                     : staged_copies().to_host(*this, to.address, address_of(from.address), bytes);
  if (to_device)
    device_.check(driver.memcpy_htod_async(address_of(to.address), from.address, bytes, handle_), "cuMemcpyHtoDAsync");
  else
    device_.check(driver.memcpy_dtoh_async(to.address, address_of(from.address), bytes, handle_), "cuMemcpyDtoHAsync");
}

StagedCopies& CudaStream::staged_copies() {
  if (!staged_copies_) staged_copies_ = new StagedCopies(device_);
  return *staged_copies_;
}

void CudaStream::put_kernel(CUfunction kernel, const LaunchExtents& extents, std::span<const std::byte> arguments) {
  const auto& [blocks, threads, shared_bytes] = extents;
  size_t bytes = arguments.size();
  std::array<void*, 5> extra = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(arguments.data()),
                                CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  device_.check(device_.driver().launch_kernel(kernel, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                                               threads[2], shared_bytes, handle(), nullptr, extra.data()),
                "cuLaunchKernel");
}

// The timeline shows what is launched piece by piece.
bool CudaStream::keeps_recurrences() const noexcept {
  return config().cuda_graphs && role() == StreamRole::kCompute && !capturing_ && !timeline::enabled();
}

void CudaStream::recur(const RecurrencePtr& what, std::span<const uint64_t> arguments, FunctionRef<void()> launch) {
  if (!graphs_) graphs_ = new LaunchGraphs(device_, *this);
  graphs_->recur(what, arguments, launch);
}

}  // namespace headrace
