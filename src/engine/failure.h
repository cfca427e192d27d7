// Failure: what one task threw, shared by every Var that it reached. FailureLog: the failures of one engine that no
// wait has raised yet.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <string>
#include <string_view>

#include "base/ref_counted.h"
#include "base/spin_lock.h"
#include "headrace/intrusive_ptr.hpp"

namespace headrace {

// What has lost a device, with a sentence on what the device was doing then.
std::exception_ptr loss_during(const std::exception_ptr& lost, std::string_view doing);

struct Failure : RefCounted<Failure> {
  Failure(std::exception_ptr thrown, const char* name);

  // Whether who knows the other one learns nothing new from this one.
  bool says_what(const Failure& other) const noexcept;

  // Rethrows the error: of the same type, with the same text.
  [[noreturn]] void raise() const {
    raised.store(true, std::memory_order_relaxed);
    std::rethrow_exception(error);
  }

  const std::exception_ptr error;
  const char* const operation;  // name of the task that threw
  const std::string text;       // of the error; empty of one that is no std::exception
  mutable std::atomic<bool> raised{false};
};

using FailurePtr = IntrusivePtr<const Failure>;

class FailureLog {
 public:
  // Keeps the oldest kMost failures that have not been raised, one that comes again and again once; a program that
  // never waits must not fill the memory with its errors.
  void add(FailurePtr failure);
  // Takes out the oldest failure that has not been raised, if there is one, and raises it. A failure that happened
  // before one that says the same was raised counts as raised.
  void raise_first();
  // Prints those that have not been raised, the first few in full, and forgets all. Whether there were any.
  bool report() noexcept;
  void clear() noexcept;

  // Around fork(): no other thread holds the lock while the process is copied.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

 private:
  FailurePtr take_first() noexcept;
  // Forgets what was raised, and what says the same and happened before. With the lock.
  void forget_raised() noexcept;

  static constexpr size_t kMost = 1024;
  SpinLock lock_;
  std::deque<FailurePtr> failures_;  // guarded by lock_
};

}  // namespace headrace
