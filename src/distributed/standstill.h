// Standstill: tells the scheduler what a worker waits for, once that lasts, so that it finds out who wait for each
// other. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distributed/protocol.pb.h"

namespace headrace::distributed {

class Standstill {
 public:
  // A thread waits for what other workers have to do.
  struct Wait {
    std::string what;  // "waits at a barrier"
    // Whom of them, called in another thread; none: nobody, it goes on by itself. Null: those who are not at the
    // barrier.
    std::function<std::vector<uint32_t>()> awaited = {};
    bool holds_program = true;  // that thread is the program's; false: a task waits, and maybe the program for that
  };
  // While it lives, the thread waits.
  class Scope {
   public:
    Scope(Standstill& standstill, Wait wait);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Standstill& standstill_;
    std::list<Wait>::iterator wait_;
  };

  // `stands`: whether the program waits for the engine, and nothing runs that it may wait for. `tell`: the scheduler.
  // Both are called by a thread that ends with this object.
  Standstill(std::function<bool()> stands, std::function<void(const Standing&)> tell);
  ~Standstill();
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  void watch();
  // What is told; none: the program may go on by itself.
  std::optional<Standing> found(uint64_t changes, const std::vector<Wait>& waits) const;

  const std::function<bool()> stands_;
  const std::function<void(const Standing&)> tell_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Wait> waits_;  // these: guarded by mutex_
  uint64_t changes_ = 0;   // of them
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace headrace::distributed
