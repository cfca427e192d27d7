#include "distributed/loans.h"

#include <utility>

#include "base/check.h"

namespace headrace::distributed {

void Loans::lend(BlockPtr block) {
  std::lock_guard guard(mutex_);
  const uint64_t place = block->place();
  lent_.emplace(place, std::move(block));
}

void Loans::take_back(uint64_t stream, const std::vector<uint64_t>& places) {
  std::vector<BlockPtr> returned;  // end without the lock
  std::lock_guard guard(mutex_);
  if (stream != stream_) return;
  for (const uint64_t place : places) {
    const auto found = lent_.find(place);
    check(found != lent_.end(), ErrorKind::kValue, "distributed: a place in memory was released that was not lent");
    returned.push_back(std::move(found->second));
    lent_.erase(found);
  }
}

void Loans::take_back_all_but(const std::vector<uint64_t>& places) {
  std::multimap<uint64_t, BlockPtr> returned;  // end without the lock
  std::lock_guard guard(mutex_);
  returned.swap(lent_);
  for (const uint64_t place : places) {
    auto found = returned.extract(place);
    check(!found.empty(), ErrorKind::kValue, "distributed: a place in memory is said to be held that was not lent");
    lent_.insert(std::move(found));
  }
}

uint64_t Loans::begin(std::vector<uint64_t>& held) {
  std::lock_guard guard(mutex_);
  released_.clear();
  held.assign(held_.begin(), held_.end());
  return ++stream_;
}

bool Loans::hold(uint64_t stream, uint64_t place) {
  std::lock_guard guard(mutex_);
  if (stream != stream_) return false;
  held_.insert(place);
  return true;
}

size_t Loans::release(uint64_t place) {
  std::lock_guard guard(mutex_);
  held_.erase(held_.find(place));
  released_.push_back(place);
  return released_.size();
}

std::vector<uint64_t> Loans::take_released(uint64_t stream) {
  std::lock_guard guard(mutex_);
  return stream == stream_ ? std::exchange(released_, {}) : std::vector<uint64_t>();
}

}  // namespace headrace::distributed
