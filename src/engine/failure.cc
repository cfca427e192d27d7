#include "engine/failure.h"

#include <fmt/format.h>

#include "base/log.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "";
  }
}

bool is_raised(const FailurePtr& failure) { return failure->raised.load(std::memory_order_relaxed); }

// Of the first `count`, those that say what `told` says count as raised.
void mark_told(const std::deque<FailurePtr>& failures, size_t count, const Failure& told) {
  for (size_t i = 0; i < count; ++i)
    if (failures[i]->says_what(told)) failures[i]->raised.store(true, std::memory_order_relaxed);
}

}  // namespace

std::exception_ptr loss_during(const std::exception_ptr& lost, std::string_view doing) {
  try {
    std::rethrow_exception(lost);
  } catch (const Error& error) {
    return std::make_exception_ptr(Error(error.kind(), fmt::format("{} {}", error.what(), doing)));
  } catch (...) {
    return lost;
  }
}

Failure::Failure(std::exception_ptr thrown, const char* name)
    : error(std::move(thrown)), operation(name), text(text_of(error)) {}

bool Failure::says_what(const Failure& other) const noexcept {
  return !text.empty() && text == other.text && std::string_view(operation) == other.operation;
}

void FailureLog::add(FailurePtr failure) {
  lock_.lock();
  const bool is_known = !failures_.empty() && failures_.back().get() == failure.get();
  if (!is_known && failures_.size() == kMost) forget_raised();
  if (!is_known && failures_.size() < kMost) failures_.push_back(std::move(failure));
  lock_.unlock();
}

FailurePtr FailureLog::take_first() noexcept {
  FailurePtr first;
  lock_.lock();
  forget_raised();
  if (!failures_.empty()) {
    first = std::move(failures_.front());
    failures_.pop_front();
    mark_told(failures_, failures_.size(), *first);
  }
  lock_.unlock();
  return first;
}

void FailureLog::forget_raised() noexcept {
  for (size_t i = 0; i < failures_.size(); ++i)
    if (is_raised(failures_[i])) mark_told(failures_, i, *failures_[i]);
  std::erase_if(failures_, is_raised);
}

bool FailureLog::report() noexcept {
  constexpr int kMostPrinted = 5;
  int count = 0;
  for (FailurePtr failure = take_first(); failure; failure = take_first()) {
    if (++count > kMostPrinted) continue;
    log(LogLevel::kError, "nobody waited for the result of {}, which failed{}{}", failure->operation,
        failure->text.empty() ? "" : ": ", failure->text);
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
