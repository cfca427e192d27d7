#include "distributed/standstill.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

Standstill::Standstill(std::function<bool()> rests, std::function<bool()> waits,
                       std::function<void(const Standing&)> tell)
    : rests_(std::move(rests)),
      program_waits_(std::move(waits)),
      tell_(std::move(tell)),
      thread_([this] { watch(); }) {}

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
    try {
      if (const std::optional<Standing> standing = found(seen, waits); standing && !has_changed(seen)) tell_(*standing);
    } catch (const Error&) {  // of who was asked: whoever waits for the same is told
    }
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
    standing.add_waits()->mutable_workers()->Add(ranks.begin(), ranks.end());
    return !wait.awaited || !ranks.empty();
  };
  const auto held = std::ranges::find_if(
      waits, [](const Wait& wait) { return wait.holds_program || (wait.is_held && wait.is_held()); });
  const bool is_held = held != waits.end();
  if (!rests_() || !(is_held || program_waits_()) || !waits[0].arrive()) return {};
  // Which of several tasks the program waits for is not known: it stands when all of them do.
  const bool is_so = is_held ? tell(*held) : std::ranges::all_of(waits, tell);
  return is_so && rests_() ? std::optional(standing) : std::nullopt;
}

bool Standstill::has_changed(uint64_t changes) {
  std::lock_guard guard(mutex_);
  return changes_ != changes;
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
