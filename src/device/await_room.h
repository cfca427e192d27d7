// What an allocator of a device does when it has nothing to give.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/function_ref.h"
#include "device/stream.h"

namespace headrace {

// Waits until `take` succeeds, which is tried under the lock `guard` whenever something may have been released. The
// thread that takes note of the end of work, which releases memory, must not wait for somebody else to do it: it does
// so now. Others call `ask`, which has that thread look, and wait a moment. False: there is nothing to be had.
inline bool await_room(std::unique_lock<std::mutex>& guard, std::condition_variable& released,
                       const std::function<void()>& ask, FunctionRef<bool()> take) {
  constexpr std::chrono::milliseconds kPatience{500};  // on a busy machine other threads may not run for long
  while (is_launching()) {
    guard.unlock();
    const bool has_room = current_work()->make_room();
    guard.lock();
    if (take()) return true;
    if (!has_room) break;
  }
  ask();
  return released.wait_for(guard, kPatience, take);
}

}  // namespace headrace
