#include "distributed/long_waits.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "distributed/job.h"

namespace headrace::distributed {

using std::chrono::milliseconds;

LongWaits::LongWaits(milliseconds long_time) : long_time_(long_time) {
  if (long_time.count() > 0) thread_ = std::thread([this] { watch(); });
}

LongWaits::~LongWaits() {
  {
    std::lock_guard guard(mutex_);
    is_over_ = true;
    ended_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

LongWaits& LongWaits::of_process() {
  static auto* const all = new LongWaits(std::chrono::seconds(stall_seconds_of_environment()));
  return *all;
}

// Nobody wakes it, so that a wait costs next to nothing.
void LongWaits::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::max(long_time_ / 8, milliseconds(1)), [&] { return is_over_; })) {
    const auto now = std::chrono::steady_clock::now();
    const Entry* first = nullptr;
    size_t others = 0;
    for (Entry& wait : waits_) {
      if (now - wait.since < long_time_ || std::exchange(wait.is_told, true)) continue;
      if (first)
        ++others;
      else
        first = &wait;
    }
    if (first)
      log(LogLevel::kWarn, "for {} seconds: {}{}", std::chrono::duration<double>(long_time_).count(), first->what(),
          others == 0 ? "" : fmt::format(" (and {} other waits)", others));
  }
}

LongWait::LongWait(std::function<std::string()> what, LongWaits& all) : all_(all) {
  std::lock_guard guard(all_.mutex_);
  entry_ = all_.waits_.insert(all_.waits_.end(), {std::chrono::steady_clock::now(), std::move(what)});
}

LongWait::~LongWait() {
  std::lock_guard guard(all_.mutex_);
  all_.waits_.erase(entry_);
}

}  // namespace headrace::distributed
