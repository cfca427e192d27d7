// Rounds: what workers have pushed for one key of a synchronous store. A round is over when every worker has pushed to
// it; a worker may be several rounds ahead of others. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace headrace::distributed {

template <class Pushed>
class Rounds {
 public:
  explicit Rounds(size_t workers) : pushed_(workers) {}

  // Whether push number `round` of a worker is new, and is kept until its round is closed. Pushes of a worker may
  // arrive in any order; one that came before is not new.
  bool add(size_t rank, uint64_t round, Pushed pushed) {
    return round >= closed_ && pushed_[rank].try_emplace(round, std::move(pushed)).second;
  }

  uint64_t closed() const noexcept { return closed_; }
  // Of rounds that were closed elsewhere.
  void skip_to(uint64_t closed) {
    closed_ = closed;
    for (auto& of_one : pushed_) of_one.erase(of_one.begin(), of_one.lower_bound(closed));
  }

  // Calls visit(round, pushed) for all that is kept.
  template <class Visit>
  void visit(const Visit& visit) {
    for (auto& of_one : pushed_)
      for (auto& [round, pushed] : of_one) visit(round, pushed);
  }

  // Closes the next round and gives what was pushed to it, in the order of the ranks; none while a worker is missing.
  std::optional<std::vector<Pushed>> close_next() {
    if (missing_in(closed_)) return {};
    std::vector<Pushed> all;
    for (std::map<uint64_t, Pushed>& one : pushed_) all.push_back(std::move(one.extract(closed_).mapped()));
    ++closed_;
    return all;
  }

  // The lowest rank of those that have not pushed to a round; none: it is closed, or can be.
  std::optional<size_t> missing_in(uint64_t round) const {
    if (round < closed_) return {};
    for (size_t rank = 0; rank < pushed_.size(); ++rank)
      if (!pushed_[rank].contains(round)) return rank;
    return {};
  }
  // The first of the rounds before `end` to which a worker has not pushed; none: it has to all.
  std::optional<uint64_t> first_without(size_t rank, uint64_t end) const {
    for (uint64_t round = closed_; round < end; ++round)
      if (!pushed_[rank].contains(round)) return round;
    return {};
  }
  bool has_pushed(size_t rank, uint64_t round) const { return round < closed_ || pushed_[rank].contains(round); }

 private:
  std::vector<std::map<uint64_t, Pushed>> pushed_;  // by rank
  uint64_t closed_ = 0;
};

}  // namespace headrace::distributed
