#include "distributed/standstill.h"

#include <algorithm>
#include <utility>

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

Standstill::Standstill(std::function<bool()> stands, std::function<void(const Standing&)> tell)
    : stands_(std::move(stands)), tell_(std::move(tell)), thread_([this] { watch(); }) {}

Standstill::~Standstill() {
  {
    std::lock_guard guard(mutex_);
    is_over_ = true;
    ended_.notify_all();
  }
  thread_.join();
}

// Nobody wakes it, so that a wait costs next to nothing.
void Standstill::watch() {
  std::unique_lock lock(mutex_);
  for (uint64_t seen = changes_; !ended_.wait_for(lock, kBetweenLooks, [&] { return is_over_; });) {
    if (waits_.empty() || std::exchange(seen, changes_) != changes_) continue;
    const std::vector<Wait> waits(waits_.begin(), waits_.end());
    lock.unlock();
    if (const std::optional<Standing> standing = found(seen, waits)) tell_(*standing);
    lock.lock();
  }
}

std::optional<Standing> Standstill::found(uint64_t changes, const std::vector<Wait>& waits) const {
  Standing standing;
  standing.set_wait(changes);
  const auto tell = [&](const Wait& wait) {
    const std::vector<uint32_t> ranks = wait.awaited ? wait.awaited() : std::vector<uint32_t>();
    standing.set_what(wait.what);
    standing.set_meets(!wait.awaited);
    standing.mutable_awaited()->Add(ranks.begin(), ranks.end());
    return !wait.awaited || !ranks.empty();
  };
  const auto held = std::ranges::find_if(waits, &Wait::holds_program);
  // Which of several tasks the program waits for is not known: it stands when all of them do.
  const bool is_so = held != waits.end() ? tell(*held) : stands_() && std::ranges::all_of(waits, tell);
  return is_so ? std::optional(standing) : std::nullopt;
}

Standstill::Scope::Scope(Standstill& standstill, Wait wait) : standstill_(standstill) {
  std::lock_guard guard(standstill_.mutex_);
  ++standstill_.changes_;
  wait_ = standstill_.waits_.insert(standstill_.waits_.end(), std::move(wait));
}

Standstill::Scope::~Scope() {
  std::lock_guard guard(standstill_.mutex_);
  ++standstill_.changes_;
  standstill_.waits_.erase(wait_);
}

}  // namespace headrace::distributed
