// Loans: what the two ends of a conversation between processes on one machine have of each other's memory. It outlasts
// the streams between them: what was lent over one that broke stays lent until the other end has read it. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "distributed/heap.h"

namespace headrace::distributed {

class Loans {
 public:
  // `heap`: the own one, or null.
  explicit Loans(std::shared_ptr<OwnHeap> heap) : heap_(std::move(heap)) {}

  const std::shared_ptr<OwnHeap>& heap() const noexcept { return heap_; }

  // --- the own memory ---
  // The other end may read the block until it says that it has done so; as often as it was lent.
  void lend(BlockPtr block);
  // What the other end tells by a stream; nothing counts if another one has begun. Raises ValueError for what was not
  // lent.
  void take_back(uint64_t stream, const std::vector<uint64_t>& places);
  // After a stream broke: the other end reads these places, and nothing else.
  void take_back_all_but(const std::vector<uint64_t>& places);

  // --- the memory of the other end ---
  // A stream begins, whose number is given; `held`: the places that are still being read.
  uint64_t begin(std::vector<uint64_t>& held);
  // A place is being read that came by a stream. False: a later stream has begun, so that it may be read no more.
  bool hold(uint64_t stream, uint64_t place);
  // It has been read. Gives how many places are to be told.
  size_t release(uint64_t place);
  // What is to be told by a stream; nothing if another one has begun.
  std::vector<uint64_t> take_released(uint64_t stream);

 private:
  const std::shared_ptr<OwnHeap> heap_;
  std::mutex mutex_;
  std::multimap<uint64_t, BlockPtr> lent_;  // these: guarded by mutex_
  std::multiset<uint64_t> held_;
  std::vector<uint64_t> released_;
  uint64_t stream_ = 0;
};

}  // namespace headrace::distributed
