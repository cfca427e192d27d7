#include "backend/sim/sim_machine.h"

#include <algorithm>
#include <string>

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

SimMachine::SimMachine() {
  const Config& from = config();
  sim::Options options{static_cast<int>(from.sim_gpus), from.sim_topology,
                       from.sim_virtual_clock ? sim::Clock::kVirtual : sim::Clock::kReal, from.sim_memory};
  configure(options);
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
        "sim: {} GPUs were asked for; from 0 to {} are possible", options.gpus, Accelerator::kMost);
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
  if (to == from) return;
  {
    std::lock_guard guard(machine.mutex_);
    links_ = machine.links_;
  }
  if (links_) number_ = links_->start(to, from, bytes);
}

void SimMachine::Transfer::end() {
  if (links_) links_->finish(number_);
}

void SimMachine::repair() noexcept {
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
}

void SimMachine::after_fork(bool in_child) noexcept {
  for (const auto& clock : virtual_machines_) clock->after_fork();
  visit_devices([](SimDevice& device) { device.unlock_after_fork(); });
  mutex_.unlock();
  if (in_child) visit_devices([](SimDevice& device) { device.abandon_threads(); });
}

SimMachine& sim_machine() {
  static SimMachine& instance = *new SimMachine();
  return instance;
}

}  // namespace headrace
