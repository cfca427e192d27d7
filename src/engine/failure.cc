#include "engine/failure.h"

namespace headrace {
namespace {

constexpr uintptr_t kLocked = 1;

}  // namespace

void FailureLog::add(FailurePtr failure) {
  lock_.lock();
  if (failures_.size() < kMost) failures_.push_back(std::move(failure));
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

// Bit 0 of the word is a lock: a reader must not count a reference on a Failure that a writer is about to drop.
const Failure* VarAccess::lock(const Var& var) noexcept {
  for (;;) {
    const uintptr_t word = var.failure_.fetch_or(kLocked, std::memory_order_acquire);
    if (!(word & kLocked)) return reinterpret_cast<const Failure*>(word);
    cpu_pause();
  }
}

FailurePtr VarAccess::load_failure(const Var& var) noexcept {
  const Failure* failure = lock(var);
  FailurePtr result(failure);
  var.failure_.store(reinterpret_cast<uintptr_t>(failure), std::memory_order_release);
  return result;
}

void VarAccess::store_failure(Var& var, FailurePtr failure) noexcept {
  const Failure* old = lock(var);
  var.failure_.store(reinterpret_cast<uintptr_t>(failure.release()), std::memory_order_release);
  FailurePtr::adopt(old);
}

Var::~Var() { VarAccess::set_failure(*this, nullptr); }

std::exception_ptr Var::error() const noexcept {
  const FailurePtr failure = VarAccess::failure(*this);
  return failure ? failure->error : nullptr;
}

}  // namespace headrace
