#include "collective/machines.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace headrace::collective {
namespace {

size_t size_of(const std::vector<int>& ranks) { return ranks.size(); }

}  // namespace

std::vector<size_t> equal_shares(size_t elements, size_t count) {
  std::vector<size_t> made(count, elements / count);
  for (size_t place = 0; place < elements % count; ++place) ++made[place];
  return made;
}

Machines::Machines(const std::vector<int>& of_ranks, int rank, bool is_direct) : rank_(rank), is_direct_(is_direct) {
  std::map<int, size_t> known;
  for (int other = 0; other < static_cast<int>(of_ranks.size()); ++other) {
    const size_t machine = known.try_emplace(of_ranks[static_cast<size_t>(other)], ranks_.size()).first->second;
    if (machine == ranks_.size()) ranks_.emplace_back();
    if (other == rank) own_ = machine, local_ = ranks_[machine].size();
    ranks_[machine].push_back(other);
  }
}

bool Machines::is_hierarchical() const noexcept {
  return is_direct_ && ranks_.size() > 1 && std::ranges::max(ranks_, {}, size_of).size() > 1;
}

size_t Machines::slices() const noexcept { return std::ranges::min(ranks_, {}, size_of).size(); }

std::vector<Portion> Machines::shares(size_t elements) const {
  std::vector<Portion> made(members(Lane::kScatter).size());
  size_t begin = 0;
  const auto give = [&](int rank, size_t size) {
    made[static_cast<size_t>(rank)] = {begin, size};
    begin += size;
  };
  if (!is_hierarchical()) {
    const std::vector<size_t> sizes = equal_shares(elements, made.size());
    for (size_t rank = 0; rank < made.size(); ++rank) give(static_cast<int>(rank), sizes[rank]);
    return made;
  }
  const std::vector<size_t> of_slices = equal_shares(elements, slices());
  for (size_t slice = 0; slice < of_slices.size(); ++slice) {
    const std::vector<size_t> sizes = equal_shares(of_slices[slice], ranks_.size());
    for (size_t machine = 0; machine < ranks_.size(); ++machine) give(ranks_[machine][slice], sizes[machine]);
  }
  return made;
}

std::vector<int> Machines::members(Lane lane) const {
  std::vector<int> members;
  switch (lane) {
    case Lane::kAgreement:
    case Lane::kScatter:
    case Lane::kGather:
      members.resize(std::accumulate(ranks_.begin(), ranks_.end(), size_t{0},
                                     [](size_t all, const auto& machine) { return all + machine.size(); }));
      std::iota(members.begin(), members.end(), 0);
      break;
    case Lane::kMachineScatter:
    case Lane::kMachineGather:
      if (is_hierarchical()) members = ranks_[own_];
      break;
    case Lane::kAcrossScatter:
    case Lane::kAcrossGather:
      if (is_hierarchical() && has_slice())
        for (const std::vector<int>& machine : ranks_) members.push_back(machine[local_]);
  }
  return members;
}

size_t Machines::place(Lane lane) const noexcept {
  if (lane == Lane::kMachineScatter || lane == Lane::kMachineGather) return local_;
  if (lane == Lane::kAcrossScatter || lane == Lane::kAcrossGather) return own_;
  return static_cast<size_t>(rank_);
}

}  // namespace headrace::collective
