// A stream of a simulated GPU: a thread that carries out, one after the other, what was launched. The thread begins
// with the first work. It launches work when its turn has come; a strict one when the engine asks for it, and keeps the
// device code until then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "device/stream.h"

namespace headrace {

class ProtectedMemory;
class SimDevice;

class SimStream final : public Stream {
 public:
  SimStream(SimDevice& device, StreamRole role, int index, std::optional<Device> source) noexcept;
  ~SimStream() override { stop(); }

  Event launch(Work& work) override;
  void wait(Event event) override;
  uint64_t completed() noexcept override { return completed_.load(std::memory_order_acquire); }
  void expect(uint64_t number) noexcept override;
  void synchronize(uint64_t number) noexcept override;
  void copy(MemoryBlock to, MemoryBlock from, size_t bytes) override;
  void touch(const void* block) override;

  // Carries out what was launched and ends the thread, until the next work.
  void stop() noexcept;
  // In a child of a process that was not stopped: thread and work are gone.
  void abandon() noexcept;

 private:
  // Device code and what it touches.
  struct Piece {
    std::unique_ptr<DeviceCode> code;
    std::vector<const void*> memory;
  };
  struct Recording;
  struct Item {
    Work* work;  // null: wait for the event
    Event event;
    std::vector<Piece> pieces;
  };

  void add(Item item);
  void work() noexcept;
  void carry_out(Item& item) noexcept;
  void run(const Piece& piece);
  void close_memory() noexcept;
  void transfer(MemoryBlock to, MemoryBlock from, size_t bytes);
  bool must_notify() noexcept;

  SimDevice& device_;
  ProtectedMemory* const memory_;     // null: not strict
  std::vector<const void*> touched_;  // by the device code that is running; the stream's thread's
  std::mutex& mutex_;                 // the device's
  std::condition_variable has_items_, has_completed_;
  std::deque<Item> items_;          // this and the next four: guarded by mutex_
  std::vector<uint64_t> expected_;  // numbers that are not complete
  uint64_t launched_ = 0;
  bool stopping_ = false;
  std::thread thread_;
  std::atomic<uint64_t> completed_{0};  // written under mutex_
};

}  // namespace headrace
