#include "distributed/departures.h"

#include <algorithm>

namespace headrace::distributed {

void Departures::come(uint32_t rank, uint64_t incarnation) {
  Place& place = places_[rank];
  lost_ -= place.lost;
  place.lost = 0;
  place.incarnations.push_back(incarnation);
}

void Departures::depart(uint32_t rank, uint64_t incarnation, bool is_lost) {
  Place& place = places_[rank];
  const bool is_replaced = !place.incarnations.empty() && place.incarnations.back() > incarnation;
  if (!is_lost || is_replaced) return;
  ++place.lost;
  ++lost_;
}

bool Departures::is_replaced(uint32_t rank, uint64_t incarnation, uint64_t until) const {
  const auto place = places_.find(rank);
  if (place == places_.end()) return false;
  const std::vector<uint64_t>& all = place->second.incarnations;
  const auto next = std::ranges::upper_bound(all, incarnation);
  return next != all.end() && *next <= until;
}

}  // namespace headrace::distributed
