#include "backend/sim/sim_device.h"

#include <thread>

#include "backend/sim/sim_machine.h"
#include "base/check.h"
#include "base/futex.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

// The three roles that have one stream each.
constexpr int kOwnStreams = static_cast<int>(StreamRole::kCommunication);

}  // namespace

SimDevice::SimDevice(SimMachine& machine, int id)
    : Accelerator({DeviceType::kGpu, id}),
      machine_(machine),
      allocator_(device(), machine.default_memory_bytes(), machine.protected_memory(), [this] { notify(); }) {
  for (int index = 0; index < kOwnStreams; ++index)
    streams_.push_back(std::make_unique<SimStream>(*this, static_cast<StreamRole>(index), index, std::nullopt));
  for (int peer = 0; peer < kMost; ++peer)
    streams_.push_back(std::make_unique<SimStream>(*this, StreamRole::kCommunication, kOwnStreams + peer,
                                                   Device{DeviceType::kGpu, peer}));
}

SimDevice::~SimDevice() = default;

Stream& SimDevice::peer_stream(Device from) noexcept { return stream(kOwnStreams + from.id); }

void SimDevice::await_progress(uint32_t seen) noexcept {
  while (progress_.load(std::memory_order_acquire) == seen) futex_wait(progress_, seen);
}

void SimDevice::notify() noexcept {
  progress_.fetch_add(1, std::memory_order_acq_rel);
  futex_wake_all(progress_);
}

std::exception_ptr SimDevice::lost() const noexcept {
  if (!is_lost_.load(std::memory_order_acquire)) return nullptr;
  return std::make_exception_ptr(Error(
      ErrorKind::kRuntime, fmt::format("{}: the device is lost; what was on it cannot be computed or read any more. "
                                       "Arrays on other devices are as they were: save them, or go on without it.",
                                       to_string(device()))));
}

std::exception_ptr SimDevice::lost_contents(const void* block) const noexcept {
  if (!allocator_.has_lost(block)) return nullptr;
  return std::make_exception_ptr(
      Error(ErrorKind::kRuntime, fmt::format("{}: the device was lost, and what this array held with it; it is back "
                                             "without its arrays. Make the array anew.",
                                             to_string(device()))));
}

bool SimDevice::takes_fault() noexcept {
  int copies = copies_until_fault_.load(std::memory_order_relaxed);
  while (copies != kNoFault && !copies_until_fault_.compare_exchange_weak(copies, copies ? copies - 1 : kNoFault,
                                                                          std::memory_order_acq_rel)) {
  }
  return copies == 0;
}

void SimDevice::stall_if_asked() noexcept {
  const int64_t ns = stall_ns_.exchange(0, std::memory_order_relaxed);
  if (ns == 0) return;
  timeline::Span span("stall");
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

void SimDevice::fail_copy(int after) noexcept { copies_until_fault_.store(after, std::memory_order_release); }

void SimDevice::lose() noexcept {
  is_lost_.store(true, std::memory_order_release);
  notify();
}

void SimDevice::repair() noexcept {
  if (is_lost_.load(std::memory_order_relaxed)) allocator_.lose_contents();
  is_lost_.store(false, std::memory_order_release);
  copies_until_fault_.store(kNoFault, std::memory_order_release);
  stall_ns_.store(0, std::memory_order_relaxed);
}

void SimDevice::stop_threads() noexcept {
  for (const auto& stream : streams_) stream->stop();
}

void SimDevice::lock_for_fork() noexcept {
  streams_mutex_.lock();
  allocator_.lock_for_fork();
}

void SimDevice::unlock_after_fork() noexcept {
  allocator_.unlock_after_fork();
  streams_mutex_.unlock();
}

void SimDevice::abandon_threads() noexcept {
  for (const auto& stream : streams_) stream->abandon();
}

}  // namespace headrace
