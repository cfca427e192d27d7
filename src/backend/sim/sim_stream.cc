#include "backend/sim/sim_stream.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "backend/sim/protected_memory.h"
#include "backend/sim/sim_machine.h"
#include "base/signals_blocked.h"
#include "device/cores.h"
#include "timeline/timeline.h"

namespace headrace {
SimStream::SimStream(SimDevice& device, StreamRole role, int index, std::optional<Device> source) noexcept
    : Stream(device, role, index, source),
      device_(device),
      memory_(device.machine().protected_memory()),
      mutex_(device.streams_mutex()) {}

void SimStream::add(Item item) {
  if (!thread_.joinable()) {
    SignalsBlocked blocked;
    thread_ = std::thread([this] { work(); });
  }
  items_.push_back(std::move(item));
}

struct SimStream::Recording final : Recorder {
  void put(std::span<const void* const> memory, std::unique_ptr<DeviceCode> code) override {
    pieces.push_back({std::move(code), {memory.begin(), memory.end()}});
  }
  std::vector<Piece> pieces;
};

Event SimStream::launch(Work& work) {
  Recording recording;
  if (memory_) {
    const StreamScope scope(*this, work, &recording);
    work.launch();
  }
  uint64_t number = 0;
  {
    std::lock_guard guard(mutex_);
    add({&work, {}, std::move(recording.pieces)});
    number = ++launched_;
  }
  has_items_.notify_one();
  return {this, number};
}

void SimStream::wait(Event event) {
  {
    std::lock_guard guard(mutex_);
    add({nullptr, event, {}});
  }
  has_items_.notify_one();
}

void SimStream::synchronize(uint64_t number) noexcept {
  std::unique_lock guard(mutex_);
  has_completed_.wait(guard, [&] { return completed_.load(std::memory_order_relaxed) >= number; });
}

void SimStream::work() noexcept {
  timeline::name_thread(fmt::format("{} {}", to_string(device_.device()), role_name(role())));
  std::unique_lock guard(mutex_);
  for (;;) {
    has_items_.wait(guard, [&] { return stopping_ || !items_.empty(); });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    guard.unlock();
    carry_out(item);
    guard.lock();
    if (!item.work) continue;
    completed_.fetch_add(1, std::memory_order_release);
    has_completed_.notify_all();
    if (!must_notify()) continue;
    guard.unlock();
    device_.notify();
    guard.lock();
  }
}

// Waking a thread costs more than small work: it is done when somebody waits, or has nothing left to wait for.
bool SimStream::must_notify() noexcept {
  const uint64_t now = completed_.load(std::memory_order_relaxed);
  const bool was_expected = std::erase_if(expected_, [&](uint64_t number) { return number <= now; }) > 0;
  return was_expected || items_.empty();
}

void SimStream::expect(uint64_t number) noexcept {
  {
    std::lock_guard guard(mutex_);
    if (completed_.load(std::memory_order_relaxed) < number) return expected_.push_back(number);
  }
  device_.notify();
}

// On a lost device nothing runs, but the stream goes on, so that nobody waits for it in vain. Nothing is left of device
// code when its work is complete.
void SimStream::carry_out(Item& item) noexcept {
  if (!item.work) return item.event.stream->synchronize(item.event.number);
  const std::vector<Piece> pieces = std::move(item.pieces);
  if (role() == StreamRole::kCompute) device_.stall_if_asked();
  if (device_.lost()) return;
  const StreamScope scope(*this, *item.work);
  if (!item.work->begin()) return;
  std::optional<BusyThread> busy;
  if (role() == StreamRole::kCompute) busy.emplace();
  if (!memory_) {
    item.work->launch();
  } else {
    try {
      for (const Piece& piece : pieces) run(piece);
    } catch (...) {
      item.work->fail(std::current_exception());
    }
  }
  item.work->end();
}

void SimStream::run(const Piece& piece) {
  struct Closing {
    SimStream& stream;
    ~Closing() { stream.close_memory(); }
  } const closing{*this};
  for (const void* address : piece.memory) touch(address);
  piece.code->run();
}

void SimStream::touch(const void* block) {
  if (!memory_) return;
  touched_.reserve(touched_.size() + 1);  // what is open is known
  memory_->open(block);
  touched_.push_back(block);
}

void SimStream::close_memory() noexcept {
  for (const void* block : touched_) memory_->close(block);
  touched_.clear();
}

void SimStream::copy(MemoryBlock to, MemoryBlock from, size_t bytes) {
  std::array<const void*, 2> memory;
  size_t count = 0;
  for (const MemoryBlock& end : {to, from})
    if (!end.device.is_host()) memory[count++] = end.address;
  run_on_device(std::span(memory).first(count), [=, this] { transfer(to, from, bytes); });
}

void SimStream::transfer(MemoryBlock to, MemoryBlock from, size_t bytes) {
  SimMachine::Transfer transfer(device_.machine(), to.device, from.device, bytes);
  if (bytes > 0) {
    const BusyThread busy;
    std::memcpy(to.address, from.address, bytes);
  }
  transfer.end();
}

void SimStream::stop() noexcept {
  std::thread ending;
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
    ending.swap(thread_);
  }
  has_items_.notify_one();
  if (ending.joinable()) ending.join();
  std::lock_guard guard(mutex_);
  stopping_ = false;
}

void SimStream::abandon() noexcept {
  if (thread_.joinable()) static_cast<void>(new std::thread(std::move(thread_)));  // cannot be destroyed unjoined
  items_.clear();
  expected_.clear();
  completed_.store(launched_, std::memory_order_relaxed);
}

}  // namespace headrace
