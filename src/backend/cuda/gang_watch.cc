#include "backend/cuda/gang_watch.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/signals_blocked.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);

}  // namespace

class GangWatch::Seat final : public Flight {
 public:
  Seat(GangWatch& watch, Entries::iterator entry) : watch_(watch), entry_(entry) {}
  ~Seat() override {
    const std::lock_guard guard(watch_.mutex_);
    watch_.entries_.erase(entry_);
  }

 private:
  GangWatch& watch_;
  const Entries::iterator entry_;
};

std::shared_ptr<const GangWatch::Flight> GangWatch::begin(WatchedGang& gang, Work& work, const GangTask& task) {
  const std::lock_guard guard(mutex_);
  entries_.push_front({&gang, &work, task, std::chrono::steady_clock::now()});
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { watch(); });
  }
  changed_.notify_all();
  return std::make_shared<Seat>(*this, entries_.begin());
}

void GangWatch::end_thread() noexcept {
  std::thread ended;
  {
    const std::lock_guard guard(mutex_);
    if (!thread_.joinable()) return;
    is_stopping_ = true;
    ended = std::move(thread_);
    changed_.notify_all();
  }
  ended.join();
  const std::lock_guard guard(mutex_);
  is_stopping_ = false;
}

void GangWatch::watch() noexcept {
  std::unique_lock guard(mutex_);
  while (!is_stopping_) {
    if (entries_.empty()) {
      changed_.wait(guard);
      continue;
    }
    changed_.wait_for(guard, kBetweenLooks, [this] { return is_stopping_; });
    look(guard);
  }
}

void GangWatch::fail_works_of(const WatchedGang& gang) noexcept {
  for (const Entry& entry : entries_)
    if (entry.gang == &gang)
      entry.work->fail(std::make_exception_ptr(Error(ErrorKind::kRuntime, gang.text_of_failure(entry.task))));
}

// The gang refuses before its work fails: what is launched meanwhile is in the list, or is refused. Work in the list
// has not been retired, so that it can be failed. Older entries come last.
void GangWatch::look(std::unique_lock<std::mutex>& guard) noexcept {
  const auto now = std::chrono::steady_clock::now();
  std::vector<WatchedGang*> seen, broken;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (std::ranges::find(seen, entry->gang) != seen.end()) continue;
    seen.push_back(entry->gang);
    const std::string trouble = entry->gang->trouble(now - entry->since);
    if (trouble.empty()) continue;
    entry->gang->refuse(trouble);
    broken.push_back(entry->gang);
  }
  for (const WatchedGang* const gang : broken) fail_works_of(*gang);
  guard.unlock();
  for (WatchedGang* const gang : broken) gang->abort();
  guard.lock();
}

void GangWatch::break_gang(WatchedGang& gang, const std::string& why) noexcept {
  {
    const std::lock_guard guard(mutex_);
    gang.refuse(why);
    fail_works_of(gang);
  }
  gang.abort();
}

GangWatch& gang_watch() {
  static GangWatch& instance = *new GangWatch;  // work may be on its way at exit
  return instance;
}

}  // namespace headrace
