// Which of the transfers of a lane a worker needs nothing more of: they are numbered from 0, and end in any order, as
// each server answers when it can.
#pragma once

#include <cstdint>
#include <set>

namespace headrace::distributed {

class CompletedTransfers {
 public:
  // Once for each number.
  void note(uint64_t number) {
    beyond_.insert(number);
    while (beyond_.erase(below_) > 0) ++below_;
  }
  // All that have lower numbers are over.
  uint64_t below() const noexcept { return below_; }

 private:
  uint64_t below_ = 0;
  std::set<uint64_t> beyond_;  // greater than below_
};

}  // namespace headrace::distributed
