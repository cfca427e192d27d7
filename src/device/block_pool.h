// The blocks of an allocator of a device: which are free, by size class, and how many bytes are handed out and kept.
// The allocator's lock guards it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "device/allocator.h"
#include "device/size_class.h"

namespace headrace {

class BlockPool {
 public:
  // `bytes_of` says what a block of a class takes.
  explicit BlockPool(size_t (*bytes_of)(int index)) noexcept : bytes_of_(bytes_of) {}

  int64_t bytes_of(int index) const noexcept { return static_cast<int64_t>(bytes_of_(index)); }
  const MemoryStats& stats() const noexcept { return stats_; }
  void reset_peak() noexcept { stats_.peak = stats_.live; }

  // Hands out the free block with the lowest address, so that a loop has the same blocks in each round; null: there is
  // none of the class.
  void* take(int index) noexcept {
    std::vector<void*>& free = free_[static_cast<size_t>(index)];
    if (free.empty()) return nullptr;
    std::ranges::pop_heap(free, std::greater());
    void* const block = free.back();
    free.pop_back();
    stats_.pooled -= bytes_of(index);
    count_new(index);
    return block;
  }
  // A block that the allocator has made was handed out.
  void count_new(int index) noexcept {
    stats_.live += bytes_of(index);
    stats_.peak = std::max(stats_.peak, stats_.live);
  }
  // A block comes back.
  void keep(int index, void* block) {
    std::vector<void*>& free = free_[static_cast<size_t>(index)];
    free.push_back(block);
    std::ranges::push_heap(free, std::greater());
    stats_.live -= bytes_of(index);
    stats_.pooled += bytes_of(index);
  }
  // Lets go of the free blocks for which `is_gone` holds, which has given them back.
  template <class IsGone>
  void erase_free(const IsGone& is_gone) {
    for (int index = 0; index < size_class::kCount; ++index) {
      std::vector<void*>& free = free_[static_cast<size_t>(index)];
      const size_t count = std::erase_if(free, is_gone);
      std::ranges::make_heap(free, std::greater());
      stats_.pooled -= static_cast<int64_t>(count) * bytes_of(index);
    }
  }
  // What is handed out no longer counts, and does not come back.
  void forget_live() noexcept { stats_.live = 0; }

 private:
  size_t (*const bytes_of_)(int index);
  std::array<std::vector<void*>, size_class::kCount> free_;  // heaps
  MemoryStats stats_;
};

}  // namespace headrace
