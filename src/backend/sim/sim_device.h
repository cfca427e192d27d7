// One simulated GPU: its streams, its memory, the faults that wait for it. Lives as long as the process.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/sim/sim_allocator.h"
#include "backend/sim/sim_stream.h"
#include "device/accelerator.h"

namespace headrace {

class SimMachine;

class SimDevice final : public Accelerator {
 public:
  SimDevice(SimMachine& machine, int id);
  ~SimDevice() override;

  int64_t memory_bytes() const noexcept override { return allocator_.capacity(); }
  DeviceProperties properties() const override { return {.name = "simulated"}; }
  // Compute, host to device, device to host, then one for copies from each other GPU.
  int stream_count() const noexcept override { return static_cast<int>(streams_.size()); }
  Stream& stream(int index) noexcept override { return *streams_[static_cast<size_t>(index)]; }
  Stream& peer_stream(Device from) noexcept override;

  uint32_t progress() noexcept override { return progress_.load(std::memory_order_acquire); }
  void await_progress(uint32_t seen) noexcept override;
  void notify() noexcept override;
  std::exception_ptr lost() const noexcept override;
  std::exception_ptr lost_contents(const void* block) const noexcept override;

  SimAllocator& allocator() noexcept { return allocator_; }

  // For its streams, inside the work that calls.
  SimMachine& machine() const noexcept { return machine_; }
  // One for all of them: a fork has to hold it.
  std::mutex& streams_mutex() noexcept { return streams_mutex_; }
  // Counts a copy to or from the device; whether it is the one that is to fail.
  bool takes_fault() noexcept;
  void stall_if_asked() noexcept;

  // See headrace/sim.hpp. Stalls are those of the real clock.
  void fail_copy(int after) noexcept;
  void stall(std::chrono::nanoseconds time) noexcept { stall_ns_.store(time.count(), std::memory_order_relaxed); }
  void lose() noexcept;
  // Nothing may be running.
  void repair() noexcept;

  void stop_threads() noexcept;
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void abandon_threads() noexcept;

 private:
  static constexpr int kNoFault = -1;

  SimMachine& machine_;
  SimAllocator allocator_;
  std::mutex streams_mutex_;
  std::vector<std::unique_ptr<SimStream>> streams_;
  std::atomic<uint32_t> progress_{0};
  std::atomic<int> copies_until_fault_{kNoFault};
  std::atomic<int64_t> stall_ns_{0};
  std::atomic<bool> is_lost_{false};
};

}  // namespace headrace
