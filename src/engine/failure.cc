#include "engine/failure.h"

namespace headrace {
void FailureLog::add(FailurePtr failure) {
  lock_.lock();
  const bool is_known = !failures_.empty() && failures_.back().get() == failure.get();
  if (!is_known && failures_.size() < kMost) failures_.push_back(std::move(failure));
  lock_.unlock();
}

FailurePtr FailureLog::take_first() noexcept {
  FailurePtr first;
  lock_.lock();
  while (!first && !failures_.empty()) {
    if (!failures_.front()->raised.load(std::memory_order_relaxed)) first = std::move(failures_.front());
    failures_.pop_front();
  }
  lock_.unlock();
  return first;
}

void FailureLog::raise_first() {
  if (const FailurePtr first = take_first()) first->raise();
}

}  // namespace headrace
