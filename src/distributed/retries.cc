#include "distributed/retries.h"

#include <algorithm>
#include <random>

namespace headrace::distributed {
namespace {

using Milliseconds = Retries::Milliseconds;

constexpr Milliseconds kFirstPause{50};  // twice as long after each attempt
constexpr Milliseconds kGreetingTime{10'000};
constexpr Milliseconds kLeastGreetingTime{1000};
constexpr std::chrono::seconds kSteadyTime{10};  // what was open so long is none of a series that fails

}  // namespace

bool Retries::is_refusal(grpc::StatusCode code) {
  using enum grpc::StatusCode;
  return code == INVALID_ARGUMENT || code == FAILED_PRECONDITION || code == UNIMPLEMENTED ||
         code == PERMISSION_DENIED || code == UNAUTHENTICATED || code == RESOURCE_EXHAUSTED;
}

void Retries::answered() {
  silent_.reset();
  attempts_ = 0;
}

void Retries::broke() {
  const bool was_steady = opened_ && Clock::now() - *opened_ >= kSteadyTime;
  if (was_steady) attempts_ = 0;
  if (!silent_ || was_steady) silent_ = Clock::now();
}

Milliseconds Retries::next_pause() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  const Milliseconds longest = std::min(longest_, kFirstPause * (1 << std::min(attempts_++, 10)));
  const Milliseconds pause(std::uniform_int_distribution<int64_t>(longest.count() / 2, longest.count())(random));
  return std::min(pause, time_left());
}

Milliseconds Retries::time_left() const {
  return silent_ ? all_ - std::chrono::duration_cast<Milliseconds>(Clock::now() - *silent_) : all_;
}

Milliseconds Retries::greeting_time() const { return std::clamp(time_left(), kLeastGreetingTime, kGreetingTime); }

}  // namespace headrace::distributed
