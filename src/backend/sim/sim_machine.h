// The machine that simulated GPUs are part of: how many there are, what links them, which clock counts. One per
// process; configured by the environment at first use and by headrace::sim::configure(). Any thread may call any
// function.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/sim/sim_device.h"
#include "backend/sim/sim_links.h"
#include "backend/sim/virtual_machine.h"
#include "device/backend.h"
#include "device/topology.h"
#include "headrace/sim.hpp"

namespace headrace {

class SimMachine final : public Backend {
 public:
  SimMachine();

  int device_count() const noexcept override { return is_refused_ ? 0 : count_.load(std::memory_order_acquire); }
  std::exception_ptr refusal() const noexcept override;
  Allocator* allocator(int id) noexcept override;
  Accelerator* accelerator(int id) noexcept override { return device(id); }
  std::shared_ptr<const Topology> topology() override;
  void end_threads() noexcept override;
  void before_fork() noexcept override;
  void after_fork(bool in_child) noexcept override;

  // Null when there is no such device.
  SimDevice* device(int id) noexcept;
  // Nothing may be running.
  void configure(const sim::Options& options);
  sim::Options options() const;
  int64_t default_memory_bytes() const noexcept { return memory_bytes_.load(std::memory_order_relaxed); }
  PushObserver* observer() noexcept override { return virtual_machine(); }
  // Null with the real clock. Lives as long as the process.
  sim::VirtualMachine* virtual_machine() const noexcept { return virtual_machine_.load(std::memory_order_acquire); }
  // Of strict devices; null: they are not. Lives as long as the process.
  ProtectedMemory* protected_memory() const noexcept { return protected_memory_; }
  // Nothing may be running.
  void repair() noexcept;

  // The faults of a copy, and what it takes on the real clock: begins with the object and ends with end(). Both raise
  // Error when the copy fails.
  class Transfer {
   public:
    Transfer(SimMachine& machine, Device to, Device from, size_t bytes);
    void end();

   private:
    void check_present() const;

    std::vector<SimDevice*> ends_;     // without the host
    std::shared_ptr<SimLinks> links_;  // null: takes no time
    int number_ = 0;
  };

 private:
  SimDevice& make_device(int id);
  template <class Visit>
  void visit_devices(const Visit& visit);

  ProtectedMemory* const protected_memory_;
  mutable std::mutex mutex_;
  sim::Options options_;                      // guarded by mutex_
  std::shared_ptr<const Topology> topology_;  // guarded by mutex_
  std::shared_ptr<SimLinks> links_;           // guarded by mutex_; null with the virtual clock
  // Threads may still be talking to the clock of an earlier configuration.
  std::vector<std::unique_ptr<sim::VirtualMachine>> virtual_machines_;  // guarded by mutex_
  std::atomic<sim::VirtualMachine*> virtual_machine_{nullptr};
  std::atomic<int> count_{0};
  bool is_refused_ = false;  // set once, in a child that fork() has made
  std::atomic<int64_t> memory_bytes_{0};
  // Made when they are first asked for; never destroyed, because arrays may outlive a configuration.
  std::array<std::atomic<SimDevice*>, Accelerator::kMost> devices_{};
};

// Lives as long as the process.
SimMachine& sim_machine();

}  // namespace headrace
