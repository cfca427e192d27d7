// A stream of a GPU. Work is put on it when it is launched, by the launch thread of its device; the stream counts in
// memory of the host what it has completed, so that to ask costs no call. That it does so, and an event for other
// streams, is put behind several pieces of work where they are short, since both calls take as long as the launch of
// a kernel. Kernels are put on it with put_kernel(); code
// that run_on_device() takes is the host's, and runs in a thread of the driver when the stream has come to it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "backend/cuda/driver.h"
#include "device/kernel_module.h"
#include "device/stream.h"

namespace headrace {

class CudaDevice;
class LaunchGraphs;
class StagedCopies;
class StreamTimes;

class CudaStream final : public Stream {
 public:
  CudaStream(CudaDevice& device, StreamRole role, int index, std::optional<Device> source) noexcept;
  ~CudaStream() override = default;

  Event launch(Work& work) override;
  void wait(Event event) override;
  uint64_t completed() noexcept override;
  // Whoever waits asks for progress itself.
  void expect(uint64_t) noexcept override {}
  void synchronize(uint64_t number) noexcept override;
  void report_times(uint64_t number) noexcept override;
  bool begin_part(timeline::Label label) override;
  void end_part() noexcept override;
  bool keeps_recurrences() const noexcept override;
  void recur(const RecurrencePtr& what, std::span<const uint64_t> arguments, FunctionRef<void()> launch) override;
  void copy(MemoryBlock to, MemoryBlock from, size_t bytes) override;

  // For work that is being launched on this stream. What the kernel takes lies in `arguments` as the members of a
  // struct do.
  void put_kernel(CUfunction kernel, const LaunchExtents& extents, std::span<const std::byte> arguments);

  // For work that is being launched on this stream: code of the host on a stream of the same context, whose end this
  // stream waits for. It fails the work.
  template <class Code>
  void run_on_host(CUstream where, Code code) {
    put_host_code(where, std::make_unique<DeviceCodeOf<Code>>(std::move(code)));
  }

  // For what puts work on it, while it is launched: that of the stream, or, while launches are captured, of the one
  // that captures them.
  CUstream handle() const noexcept { return capturing_ ? capturing_ : handle_; }
  bool is_capturing() const noexcept { return capturing_ != nullptr; }

  // Any thread.
  bool has_work() noexcept { return launched_.load(std::memory_order_acquire) > completed(); }
  // Has the stream count what was launched up to `number`, if it is not to do so yet. Any thread, but for code of the
  // host that a stream runs.
  void tell(uint64_t number) noexcept;
  // All that was launched. The launch thread, when it has nothing to launch.
  void tell_all() noexcept;
  // Loses the device if the stream has met an error.
  void ask_for_errors() noexcept;

 private:
  friend class LaunchGraphs;  // sets capturing_
  class HostCode;
  struct Recording;
  // A point that other streams can wait for.
  struct Mark {
    CUevent event = nullptr;
    uint64_t number = 0;
  };
  // More than the engine launches ahead: what a mark is behind is over before its place is needed again.
  static constexpr size_t kMarks = 64;

  void open();
  bool begin_times(Work& work);
  bool is_time_to_tell(uint64_t number) noexcept;
  void write_number();
  void put_host_code(CUstream where, std::unique_ptr<DeviceCode> code);
  StagedCopies& staged_copies();

  CudaDevice& device_;
  StagedCopies* staged_copies_ = nullptr;  // these three: the launch thread's; null: not needed yet
  StreamTimes* times_ = nullptr;
  LaunchGraphs* graphs_ = nullptr;
  CUstream capturing_ = nullptr;  // the launch thread's; null: nothing is captured
  CUstream handle_ = nullptr;     // these two: null until the first work; the launch thread's, then constant
  std::atomic<volatile uint64_t*> counter_{nullptr};  // pinned memory of the host, written by the stream
  std::atomic<uint64_t> launched_{0};
  std::mutex telling_;
  std::atomic<uint64_t> told_{0};     // written under telling_: how far the stream has been told to count
  std::array<Mark, kMarks> marks_{};  // guarded by telling_
  size_t newest_ = 0;                 // likewise: the place of the mark at told_
  std::atomic<int> running_{0};       // host code of this stream, in threads of the driver
};

// The stream that the calling thread launches work on; it is one of a GPU of this backend.
CudaStream& current_cuda_stream() noexcept;

}  // namespace headrace
