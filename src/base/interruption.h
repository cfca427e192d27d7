// Interruption: how a frontend ends long waits of its threads, for Ctrl-C say.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace headrace {

// While it lives, long waits of this thread call `check` now and then, with no lock of theirs. What it throws ends the
// wait; what was waited for goes on.
class Interruptible {
 public:
  using Check = void (*)();
  explicit Interruptible(Check check) noexcept : before_(std::exchange(current(), check)) {}
  ~Interruptible() { current() = before_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static constexpr std::chrono::milliseconds kBetweenChecks{50};
  // That of this thread; null: it is not interrupted.
  static Check& current() noexcept {
    thread_local Check check = nullptr;
    return check;
  }

 private:
  const Check before_;
};

// As changed.wait(lock, is_ready). When it throws the lock is held, as before.
template <class IsReady>
void interruptible_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, IsReady is_ready) {
  const Interruptible::Check check = Interruptible::current();
  if (!check) return changed.wait(lock, is_ready);
  struct Relock {
    std::unique_lock<std::mutex>& lock;
    ~Relock() { lock.lock(); }
  };
  while (!changed.wait_for(lock, Interruptible::kBetweenChecks, is_ready)) {
    lock.unlock();
    const Relock relock{lock};
    check();
  }
}

}  // namespace headrace
