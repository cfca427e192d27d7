// A gang that gang_watch.h looks after: its work may wait for a device that never comes.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "device/gang.h"

namespace headrace {

class WatchedGang {
 public:
  virtual ~WatchedGang() = default;

  // What has happened, after which work may never be complete; empty: nothing. Some work is on its way for `oldest`.
  // Any thread.
  virtual std::string trouble(std::chrono::steady_clock::duration oldest) noexcept = 0;
  // Of a task that failed, after refuse(). Any thread.
  virtual std::string text_of_failure(const GangTask& task) const = 0;
  // Ends what the devices do for each other, wherever they wait; after refuse(). Any thread; who holds gang_lock() may
  // be waiting for this.
  virtual void abort() noexcept = 0;

  // No work is taken from now on, because of this. The first reason stays. Any thread, as the others.
  void refuse(const std::string& why) noexcept {
    const std::lock_guard guard(mutex_);
    if (why_refused_.empty()) why_refused_ = why;
    is_refusing_.store(true, std::memory_order_release);
  }
  bool is_refusing() const noexcept { return is_refusing_.load(std::memory_order_acquire); }
  // Empty: it is not refusing.
  std::string why_refused() const {
    const std::lock_guard guard(mutex_);
    return why_refused_;
  }

 private:
  std::atomic<bool> is_refusing_{false};
  mutable std::mutex mutex_;
  std::string why_refused_;  // guarded by mutex_
};

}  // namespace headrace
