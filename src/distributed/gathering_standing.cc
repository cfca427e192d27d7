// Gathering: workers that wait for each other for ever. Each says what it waits for, and whom, again and again; it does
// not go on before one of those has done something, so that all of a set of whom each awaits others of the set stand.
#include <fmt/format.h>

#include <algorithm>

#include "distributed/gathering.h"

namespace headrace::distributed {
namespace {

using std::chrono::seconds;

constexpr seconds kLong{4};   // what has lasted so long is no wait for a message on its way
constexpr seconds kFresh{4};  // twice in this time: who has paused may say what was so before

}  // namespace

void Gathering::stand(const Standing& standing) {
  std::lock_guard guard(mutex_);
  const auto known = seats_.find(standing.token());
  if (known == seats_.end()) return;
  Seat& seat = known->second;
  seat.said_before = std::exchange(seat.said_at, Clock::now());
  if (seat.standing.wait() != standing.wait()) seat.stands_since = seat.said_at;
  seat.standing = standing;
  if (!seat.verdict.empty()) tell_verdict(seat);  // its stream may have been broken
  const std::vector<Seat*> found = waiting_for_ever();
  std::string all;
  for (const Seat* one : found)
    all += fmt::format("{}worker {} {}", all.empty() ? "" : "; ", one->rank, one->standing.what());
  for (Seat* one : found) {
    one->verdict = fmt::format(
        "workers wait for each other, so that none goes on: {}; they have to push the same keys, and come to the same "
        "barriers and exchanges, in one order",
        all);
    tell_verdict(*one);
  }
  settle();
}

void Gathering::tell_verdict(Seat& seat) {
  Notice notice;
  notice.set_standstill(seat.verdict);
  if (seat.stream) say(*seat.stream, std::move(notice));
  if (auto* const reactor = std::exchange(seat.meeting, nullptr))
    answer(reactor, {grpc::StatusCode::ABORTED, seat.verdict});
}

bool Gathering::awaits_one_of(const Seat& seat, std::span<Seat* const> others) const {
  if (seat.standing.meets())  // what it says may be from before the others came
    return seat.meeting && std::ranges::any_of(others, [](const Seat* other) { return !other->meeting; });
  return std::ranges::all_of(seat.standing.waits(), [&](const Awaited& wait) {
    return std::ranges::any_of(others, [&](const Seat* other) {
      return std::ranges::find(wait.workers(), other->rank) != wait.workers().end();
    });
  });
}

std::vector<Gathering::Seat*> Gathering::waiting_for_ever() const {
  const Clock::time_point now = Clock::now();
  std::vector<Seat*> found;
  for (Seat* one : workers_)
    if (one && one->verdict.empty() && now - one->said_before <= kFresh && now - one->stands_since >= kLong)
      found.push_back(one);
  for (std::vector<Seat*> others; others.size() != found.size();) {
    others = found;
    std::erase_if(found, [&](const Seat* one) { return !awaits_one_of(*one, others); });
  }
  return found;
}

}  // namespace headrace::distributed
