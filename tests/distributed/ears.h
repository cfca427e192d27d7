// Ears: what a node hears of the scheduler, for tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/membership.h"

namespace headrace::distributed {

class Ears {
 public:
  Observer observer() {
    return {.departed = [this](const Departed& one) { hear(text_of(one)); },
            .serving =
                [this](const Serving& one) {
                  hear(fmt::format("{} serves in epoch {}, {} stands by{}", one.address(), one.epoch(),
                                   one.backup().empty() ? "nobody" : one.backup(), one.is_backed() ? " with all" : ""));
                },
            .stands = [this](const std::string& why) { hear(why); },
            .ended = [this](const std::string& why) { hear(why.empty() ? "finished" : why); }};
  }
  // Waits for the first that contains `text`.
  std::string await(const std::string& text) {
    std::unique_lock lock(mutex_);
    const auto has = [&](const std::string& one) { return one.find(text) != one.npos; };
    changed_.wait(lock, [&] { return std::ranges::any_of(heard_, has); });
    return *std::ranges::find_if(heard_, has);
  }
  std::vector<std::string> all() {
    std::lock_guard guard(mutex_);
    return heard_;
  }

 private:
  void hear(std::string text) {
    std::lock_guard guard(mutex_);
    heard_.push_back(std::move(text));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
};

}  // namespace headrace::distributed
