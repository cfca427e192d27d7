// A stream of a GPU. Work is put on it when it is launched, by the launch thread of its device; the stream counts in
// memory of the host what it has completed, so that to ask costs no call. Kernels are put on it with put_kernel(); code
// that run_on_device() takes is the host's, and runs in a thread of the driver when the stream has come to it.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "backend/cuda/driver.h"
#include "device/stream.h"

namespace headrace {

class CudaDevice;

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
  void copy(MemoryBlock to, MemoryBlock from, size_t bytes) override;

  // For work that is being launched on this stream. The kernel takes one struct, whose bytes are `arguments`.
  void put_kernel(CUfunction kernel, unsigned blocks, unsigned threads, std::span<const std::byte> arguments);

  // For libraries that put work on it, while it is launched.
  CUstream handle() const noexcept { return handle_; }

  // Any thread.
  bool has_work() noexcept { return launched_.load(std::memory_order_acquire) > completed(); }
  // Loses the device if the stream has met an error.
  void ask_for_errors() noexcept;

 private:
  class HostCode;
  struct Recording;
  // More than the engine launches ahead: an event is waited for before its place is needed again.
  static constexpr size_t kEvents = 64;

  void open();
  void put_host_code(std::unique_ptr<DeviceCode> code);
  void copy_through_staging(MemoryBlock to, MemoryBlock from, size_t bytes);

  CudaDevice& device_;
  CUstream handle_ = nullptr;  // these three: null until the first work; the launch thread's, then constant
  std::array<CUevent, kEvents> events_ = {};
  std::atomic<volatile uint64_t*> counter_{nullptr};  // pinned memory of the host, written by the stream
  std::atomic<uint64_t> launched_{0};
  std::atomic<int> running_{0};  // host code of this stream, in threads of the driver
};

// The stream that the calling thread launches work on; it is one of a GPU of this backend.
CudaStream& current_cuda_stream() noexcept;

}  // namespace headrace
