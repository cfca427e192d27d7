#include "distributed/applied_pushes.h"

#include <algorithm>

namespace headrace::distributed {

AppliedPushes::AppliedPushes(size_t workers) {
  for (size_t rank = 0; rank < workers; ++rank) by_rank_.emplace(rank, Of{});
}

uint64_t AppliedPushes::count(size_t rank, uint64_t incarnation) const {
  const auto found = by_rank_.find(rank);
  return found != by_rank_.end() && found->second.incarnation == incarnation ? found->second.pushes : 0;
}

void AppliedPushes::add(size_t rank, uint64_t incarnation) {
  const auto [found, is_new] = by_rank_.try_emplace(rank);
  Of& of = found->second;
  if (of.incarnation != incarnation) {
    const bool is_first = !is_new && of.incarnation == 0 && of.is_there;
    of = {.incarnation = incarnation, .begun_at = is_first ? 0 : slowest_but(rank, 0)};
  }
  ++of.pushes;
}

void AppliedPushes::leave(size_t rank) {
  if (const auto found = by_rank_.find(rank); found != by_rank_.end()) found->second.is_there = false;
}

uint64_t AppliedPushes::slowest_but(size_t rank, uint64_t otherwise) const {
  uint64_t slowest = UINT64_MAX;
  for (const auto& [other, of] : by_rank_)
    if (other != rank && of.is_there) slowest = std::min(slowest, of.place());
  return slowest == UINT64_MAX ? otherwise : slowest;
}

bool AppliedPushes::is_ahead(size_t rank, uint64_t incarnation, uint64_t pushes, uint32_t staleness) const {
  const auto found = by_rank_.find(rank);
  const bool is_known = found != by_rank_.end() && found->second.incarnation == incarnation;
  const uint64_t place = pushes + (is_known ? found->second.begun_at : 0);
  return pushes > 0 && place > staleness && slowest_but(rank, place) < place - staleness;
}

void AppliedPushes::tell(Outcome& outcome) const {
  for (const auto& [rank, of] : by_rank_) {
    Applied& applied = *outcome.add_applied();
    applied.set_rank(static_cast<uint32_t>(rank));
    applied.set_incarnation(of.incarnation);
    applied.set_pushes(of.pushes);
    applied.set_begun_at(of.begun_at);
  }
}

// Who is there each process hears itself; who has pushed is.
void AppliedPushes::take(const Outcome& outcome) {
  for (const Applied& applied : outcome.applied()) {
    Of& of = by_rank_[applied.rank()];
    const bool is_there = of.is_there || applied.incarnation() > of.incarnation;
    of = {applied.incarnation(), applied.pushes(), applied.begun_at(), is_there};
  }
}

}  // namespace headrace::distributed
