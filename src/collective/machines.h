// Which ranks share a machine, and what follows for sums: where several machines have several ranks, the network
// carries least when the ranks of each machine sum first (`hierarchical` of kvstore/strategies.h, which says how; the
// test of the planner holds this choice to it). Nobody changes it; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::collective {

// Transfers of one lane are begun in the same order by all its ranks, those of different lanes in any. The lanes of
// machines have the ranks of one machine; those across machines the ranks with the same slice.
enum class Lane : uint8_t {
  kAgreement,
  kScatter,
  kGather,
  kMachineScatter,
  kMachineGather,
  kAcrossScatter,
  kAcrossGather,
};
inline constexpr size_t kLanes = 7;
inline constexpr size_t kCommonLanes = 3;  // the first ones, of all ranks; the others are used by hierarchies alone

// A part of an array: so many elements from `begin` on.
struct Portion {
  size_t begin, size;
};

// Of equal size, but for one element.
std::vector<size_t> equal_shares(size_t elements, size_t count);

class Machines {
 public:
  // By rank, a number that ranks of one machine alone have in common; `rank` is this one. `is_direct`: what ranks give
  // each other goes from one machine to the other; where it passes others, sums within machines spare nothing.
  Machines(const std::vector<int>& of_ranks, int rank, bool is_direct = true);

  int rank() const noexcept { return rank_; }
  // The ranks of each machine in their order; machines are in that of their first ranks.
  const std::vector<std::vector<int>>& ranks() const noexcept { return ranks_; }
  size_t own() const noexcept { return own_; }      // the machine of this rank
  size_t local() const noexcept { return local_; }  // its place among the ranks of that
  size_t local_size() const noexcept { return ranks_[own_].size(); }

  bool is_hierarchical() const noexcept;
  // A sum has as many slices as the smallest machine has ranks; the first ranks of each machine have one.
  size_t slices() const noexcept;
  bool has_slice() const noexcept { return local_ < slices(); }
  // What of an array of so many elements belongs to each rank, where ranks share it: its part of its machine's slice.
  std::vector<Portion> shares(size_t elements) const;

  // The ranks of the lane that this rank uses, in their order; empty if it uses none.
  std::vector<int> members(Lane lane) const;
  size_t place(Lane lane) const noexcept;  // of this rank among them

 private:
  const int rank_;
  const bool is_direct_;
  std::vector<std::vector<int>> ranks_;
  size_t own_ = 0, local_ = 0;
};

}  // namespace headrace::collective
