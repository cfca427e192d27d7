// The records of one lane: the newest of them, in a ring. One thread writes at a time; any thread may copy meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "base/spin_lock.h"
#include "timeline/timeline.h"

namespace headrace::timeline::detail {

enum class Kind : uint32_t { kSpan, kAsyncSpan, kCounter, kMark, kSent, kReceived };

// Accessed through atomic_ref only: copy() may read a slot while its thread writes it again; such a slot is recognised
// by the ring's count and dropped.
struct Slot {
  const char* name;
  const Category* category;
  uint64_t begin;
  uint64_t end;  // of a counter: its value; of a mark: its scope; of a message: its number
  uint64_t origin_at;
  uint32_t origin_lane;
  Kind kind;
};

// Outlives its thread, so that its records can be collected.
struct Ring {
  static constexpr size_t kSize = 1 << 17;

  int number = 0;
  std::string name;  // guarded by Recorder::mutex
  const char* group = kThreadGroup;
  Clock clock = Clock::kTicks;
  bool is_track = false;
  bool in_use = true;                // guarded by Recorder::mutex
  SpinLock lock;                     // of a track: held while writing
  std::atomic<uint64_t> count{0};    // records ever written
  std::atomic<uint64_t> first{0};    // records before it were dropped by start()
  std::atomic<uint64_t> section{0};  // records before it belong to earlier sections

  void write(Kind kind, Label label, uint64_t begin, uint64_t end, Origin origin) noexcept {
    const uint64_t at = count.load(std::memory_order_relaxed);
    Slot& slot = slots_.get()[at % kSize];
    const auto set = [](auto& field, auto value) { std::atomic_ref(field).store(value, std::memory_order_relaxed); };
    set(slot.name, label.name);
    set(slot.category, label.category);
    set(slot.begin, begin);
    set(slot.end, end);
    set(slot.origin_lane, static_cast<uint32_t>(origin.lane));
    set(slot.kind, kind);
    if (origin.lane) set(slot.origin_at, origin.at);
    count.store(at + 1, std::memory_order_release);
  }

  Slot read(uint64_t at) const noexcept {
    Slot& slot = slots_.get()[at % kSize];
    const auto get = [](auto& field) { return std::atomic_ref(field).load(std::memory_order_acquire); };
    return {get(slot.name),      get(slot.category),    get(slot.begin), get(slot.end),
            get(slot.origin_at), get(slot.origin_lane), get(slot.kind)};
  }

 private:
  struct Free {
    void operator()(Slot* slots) const noexcept { std::free(slots); }
  };
  // Zeroed pages come from the system as they are reached: a lane with few records takes little memory.
  static Slot* allocate() {
    void* slots = std::calloc(kSize, sizeof(Slot));
    if (!slots) throw std::bad_alloc();
    return static_cast<Slot*>(slots);
  }

  std::unique_ptr<Slot, Free> slots_{allocate()};
};

}  // namespace headrace::timeline::detail
