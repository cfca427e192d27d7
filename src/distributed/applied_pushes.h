// AppliedPushes: how many pushes of each worker to one key of an asynchronous store count, and so how far workers have
// come. Workers may come and go: another one of the same rank is another incarnation, and begins anew. Belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "distributed/protocol.pb.h"

namespace headrace::distributed {

class AppliedPushes {
 public:
  // `workers`: that the job begins with. They count from 0, whether they have pushed or not.
  explicit AppliedPushes(size_t workers);

  // How many of this incarnation count.
  uint64_t count(size_t rank, uint64_t incarnation) const;
  // One more. Who has come later begins where the slowest of the others is at its first push.
  void add(size_t rank, uint64_t incarnation);
  // A worker of this rank is not there any more. Nobody waits for it.
  void leave(size_t rank);
  // Whether a worker that has pushed so often has done so more than `staleness` times more often than another one.
  bool is_ahead(size_t rank, uint64_t incarnation, uint64_t pushes, uint32_t staleness) const;

  // For another process, and from one.
  void tell(Outcome& outcome) const;
  void take(const Outcome& outcome);

 private:
  struct Of {
    uint64_t incarnation = 0;  // 0: has not pushed, and has been there from the beginning
    uint64_t pushes = 0;
    uint64_t begun_at = 0;
    bool is_there = true;
    uint64_t place() const noexcept { return begun_at + pushes; }
  };

  uint64_t slowest_but(size_t rank, uint64_t otherwise) const;

  std::map<size_t, Of> by_rank_;
};

}  // namespace headrace::distributed
