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
  const auto is_raised = [](const FailurePtr& one) { return one->raised.load(std::memory_order_relaxed); };
  const auto mark_told = [](auto begin, auto end, const Failure& told) {
    for (; begin != end; ++begin)
      if ((*begin)->says_what(told)) (*begin)->raised.store(true, std::memory_order_relaxed);
  };
  FailurePtr first;
  lock_.lock();
  for (auto one = failures_.begin(); one != failures_.end(); ++one)
    if (is_raised(*one)) mark_told(failures_.begin(), one, **one);
  std::erase_if(failures_, is_raised);
  if (!failures_.empty()) {
    first = std::move(failures_.front());
    failures_.pop_front();
    mark_told(failures_.begin(), failures_.end(), *first);
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
