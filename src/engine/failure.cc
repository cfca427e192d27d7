#include "engine/failure.h"

#include <fmt/format.h>

#include "base/log.h"
#include "headrace/error.hpp"

namespace headrace {

std::exception_ptr loss_during(const std::exception_ptr& lost, std::string_view doing) {
  try {
    std::rethrow_exception(lost);
  } catch (const Error& error) {
    return std::make_exception_ptr(Error(error.kind(), fmt::format("{} {}", error.what(), doing)));
  } catch (...) {
    return lost;
  }
}

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

bool FailureLog::report() noexcept {
  constexpr int kMostPrinted = 5;
  int count = 0;
  for (FailurePtr failure = take_first(); failure; failure = take_first()) {
    if (++count > kMostPrinted) continue;
    try {
      std::rethrow_exception(failure->error);
    } catch (const std::exception& error) {
      log(LogLevel::kError, "nobody waited for the result of {}, which failed: {}", failure->operation, error.what());
    } catch (...) {
      log(LogLevel::kError, "nobody waited for the result of {}, which failed", failure->operation);
    }
  }
  if (count > kMostPrinted) log(LogLevel::kError, "{} more operations failed so", count - kMostPrinted);
  return count > 0;
}

void FailureLog::clear() noexcept {
  lock_.lock();
  failures_.clear();
  lock_.unlock();
}

void FailureLog::raise_first() {
  if (const FailurePtr first = take_first()) first->raise();
}

}  // namespace headrace
