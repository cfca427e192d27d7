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
  // A thread waits for what other workers have to do. The functions are called in another thread.
  struct Wait {
    std::string what;  // "waits at a barrier"
    // Returns when all that this worker has sent has arrived; false: the process is ending.
    std::function<bool()> arrive;
    // Whom it waits for; none: nobody, it goes on by itself. Null: those who are not at the barrier.
    std::function<std::vector<uint32_t>()> awaited = {};
    bool holds_program = true;  // that thread is the program's; false: another one waits, and maybe the program for it
    // Whether the program waits for that other one, where it does not do so as for tasks. Null: it does not.
    std::function<bool()> is_held = {};
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

  // `rests`: whether nothing runs by which this worker would do more; `waits`: whether the program waits for tasks.
  // `tell`: the scheduler. All are called by a thread that ends with this object.
  Standstill(std::function<bool()> rests, std::function<bool()> waits, std::function<void(const Standing&)> tell);
  ~Standstill();
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  void watch();
  // What is told; none: the program may go on by itself.
  std::optional<Standing> found(uint64_t changes, const std::vector<Wait>& waits) const;
  bool has_changed(uint64_t changes);

  const std::function<bool()> rests_, program_waits_;
  const std::function<void(const Standing&)> tell_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Wait> waits_;  // these: guarded by mutex_
  uint64_t changes_ = 0;   // of them
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace headrace::distributed
