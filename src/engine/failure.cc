#include "engine/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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
  if (!is_known && failures_.size() < kMost) failures_.push_back(std::move(failure));
  lock_.unlock();
}

FailurePtr FailureLog::take_first() noexcept {
  FailurePtr first;
  std::vector<FailurePtr> raised;  // released without the lock
  std::deque<FailurePtr> others;
  lock_.lock();
  for (; !failures_.empty(); failures_.pop_back()) {
    FailurePtr& newest = failures_.back();
    const auto is_known = [&](const FailurePtr& known) { return newest->says_what(*known); };
    const bool was_raised = newest->raised.load(std::memory_order_relaxed) || std::ranges::any_of(raised, is_known);
    if (was_raised)
      raised.push_back(std::move(newest));
    else
      others.push_front(std::move(newest));
  }
  failures_ = std::move(others);
  if (!failures_.empty()) {
    first = std::move(failures_.front());
    failures_.pop_front();
    for (const FailurePtr& failure : failures_)
      if (failure->says_what(*first)) failure->raised.store(true, std::memory_order_relaxed);
  }
  lock_.unlock();
  return first;
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
