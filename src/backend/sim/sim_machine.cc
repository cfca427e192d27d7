#include "backend/sim/sim_machine.h"

#include <algorithm>
#include <limits>
#include <string>

#include "backend/sim/exit_report.h"
#include "backend/sim/protected_memory.h"
#include "base/check.h"
#include "base/config.h"

namespace headrace {
namespace {

constexpr int64_t kDefaultMemory = int64_t{16} << 30;

std::shared_ptr<const Topology> topology_for(const sim::Options& options) {
  if (options.gpus == 0 && options.topology.empty()) return nullptr;
  return std::make_shared<const Topology>(
      load_topology(options.topology.empty() ? fmt::format("pcie{}", options.gpus) : options.topology));
}

}  // namespace

SimMachine::SimMachine() : protected_memory_(config().sim_strict ? new ProtectedMemory() : nullptr) {
  const Config& from = config();
  const int64_t gpus = std::min<int64_t>(from.sim_gpus, std::numeric_limits<int>::max());
  sim::Options options{static_cast<int>(gpus), from.sim_topology,
                       from.sim_virtual_clock ? sim::Clock::kVirtual : sim::Clock::kReal, from.sim_memory};
  configure(options);
  if (from.sim_virtual_clock) print_report_at_exit();
}

Allocator* SimMachine::allocator(int id) noexcept {
  SimDevice* const found = device(id);
  return found ? &found->allocator() : nullptr;
}

SimDevice* SimMachine::device(int id) noexcept {
  if (id < 0 || id >= device_count()) return nullptr;
  SimDevice* const known = devices_[static_cast<size_t>(id)].load(std::memory_order_acquire);
  return known ? known : &make_device(id);
}

// A driver of real devices does not work in a child, whatever the child asks of it.
std::exception_ptr SimMachine::refusal() const noexcept {
  if (!is_refused_) return nullptr;
  return std::make_exception_ptr(
      Error(ErrorKind::kRuntime,
            "strict simulation: this process was made by fork(), and GPUs do not work in such a child. Use them in the "
            "parent alone, or start the process anew (multiprocessing: the method 'spawn')."));
}

SimDevice& SimMachine::make_device(int id) {
  std::lock_guard guard(mutex_);
  std::atomic<SimDevice*>& place = devices_[static_cast<size_t>(id)];
  if (!place.load(std::memory_order_relaxed)) place.store(new SimDevice(*this, id), std::memory_order_release);
  return *place.load(std::memory_order_relaxed);
}

template <class Visit>
void SimMachine::visit_devices(const Visit& visit) {
  for (std::atomic<SimDevice*>& place : devices_)
    if (SimDevice* device = place.load(std::memory_order_acquire)) visit(*device);
}

void SimMachine::configure(const sim::Options& options) {
  check(options.gpus >= 0 && options.gpus <= Accelerator::kMost, ErrorKind::kValue,
        "sim: {} GPUs were asked for (gpus, HEADRACE_SIM_GPUS); from 0 to {} are possible", options.gpus,
        Accelerator::kMost);
  check(options.memory_bytes >= 0, ErrorKind::kValue, "sim: a GPU cannot have {} bytes of memory",
        options.memory_bytes);
  const std::shared_ptr<const Topology> topology = topology_for(options);
  int count = 0;
  if (topology) {
    const auto gpus = static_cast<int>(topology->gpus().size());
    check(options.gpus <= gpus, ErrorKind::kValue,
          "sim: {} GPUs were asked for, but the topology '{}' has {}; ask for fewer or give another topology",
          options.gpus, topology->name(), gpus);
    count = std::min(options.gpus ? options.gpus : gpus, Accelerator::kMost);
    check(!topology->hosts().empty(), ErrorKind::kValue, "sim: the topology '{}' has no CPU; add a device cpu0",
          topology->name());
  }
  visit_devices([&](SimDevice& device) {
    const int64_t live = device.allocator().stats().live;
    check(device.device().id < count || live == 0, ErrorKind::kValue,
          "sim: {} would no longer exist, but arrays of {} bytes are on it; delete them first",
          to_string(device.device()), live);
  });
  std::unique_ptr<sim::VirtualMachine> clock;
  if (topology && options.clock == sim::Clock::kVirtual)
    clock = std::make_unique<sim::VirtualMachine>(sim::MachineSpec(topology));
  std::lock_guard guard(mutex_);
  options_ = options;
  options_.gpus = count;
  memory_bytes_.store(options.memory_bytes ? options.memory_bytes : kDefaultMemory, std::memory_order_relaxed);
  options_.memory_bytes = default_memory_bytes();
  topology_ = topology;
  links_ = topology && !clock ? std::make_shared<SimLinks>(topology) : nullptr;
  virtual_machine_.store(clock.get(), std::memory_order_release);
  if (clock) virtual_machines_.push_back(std::move(clock));
  count_.store(count, std::memory_order_release);
  visit_devices([&](SimDevice& device) { device.allocator().set_capacity(default_memory_bytes()); });
}

sim::Options SimMachine::options() const {
  std::lock_guard guard(mutex_);
  return options_;
}

std::shared_ptr<const Topology> SimMachine::topology() {
  std::lock_guard guard(mutex_);
  return topology_;
}

SimMachine::Transfer::Transfer(SimMachine& machine, Device to, Device from, size_t bytes) {
  if (!to.is_host()) ends_.push_back(machine.device(to.id));
  if (!from.is_host() && from != to) ends_.push_back(machine.device(from.id));
  check_present();
  const auto failing = std::ranges::count_if(ends_, [](SimDevice* end) { return end->takes_fault(); });
  check(failing == 0, ErrorKind::kRuntime, "copy of {} bytes from {} to {} failed: a fault that was injected", bytes,
        to_string(from), to_string(to));
  if (to == from) return;
  {
    std::lock_guard guard(machine.mutex_);
    links_ = machine.links_;
  }
  if (links_) number_ = links_->start(to, from, bytes);
}

void SimMachine::Transfer::end() {
  if (links_) links_->finish(number_);
  check_present();
}

void SimMachine::Transfer::check_present() const {
  for (const SimDevice* end : ends_)
    if (const std::exception_ptr lost = end->lost()) std::rethrow_exception(lost);
}

void SimMachine::repair() noexcept {
  if (sim::VirtualMachine* const clock = virtual_machine()) clock->forget_stalls();
  visit_devices([&](SimDevice& device) {
    device.repair();
    device.allocator().set_capacity(default_memory_bytes());
  });
}

void SimMachine::end_threads() noexcept {
  visit_devices([](SimDevice& device) { device.stop_threads(); });
}

void SimMachine::before_fork() noexcept {
  mutex_.lock();
  visit_devices([](SimDevice& device) { device.lock_for_fork(); });
  for (const auto& clock : virtual_machines_) clock->before_fork();
  if (protected_memory_) protected_memory_->lock_for_fork();
}

void SimMachine::after_fork(bool in_child) noexcept {
  if (protected_memory_) protected_memory_->unlock_after_fork();
  for (const auto& clock : virtual_machines_) clock->after_fork();
  visit_devices([](SimDevice& device) { device.unlock_after_fork(); });
  mutex_.unlock();
  if (!in_child) return;
  is_refused_ = protected_memory_ != nullptr;
  visit_devices([](SimDevice& device) { device.abandon_threads(); });
}

SimMachine& sim_machine() {
  static SimMachine& instance = *new SimMachine();
  return instance;
}

}  // namespace headrace
