// Retries: when to try to reach another process again whose connection broke, and when to give it up. Pauses grow and
// vary by chance, so that those who lost the same process do not come back together. Belongs to whoever calls it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>

namespace headrace::distributed {

class Retries {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Gives up after `all`; between attempts it pauses for `longest` at most.
  explicit Retries(Milliseconds all, Milliseconds longest = kLongestPause) : all_(all), longest_(longest) {}

  void begins() { opened_.reset(); }         // an attempt
  void opened() { opened_ = Clock::now(); }  // it has succeeded: the other process has greeted
  void answered();                           // the other process has done what it was asked for, or owes nothing
  void broke();                              // the attempt has failed, or what it opened is over

  // Before the next attempt, which is counted.
  Milliseconds next_pause();
  // To reach the other process; 0 or less: it is to be given up.
  Milliseconds time_left() const;
  // That an attempt may take until the other process greets.
  Milliseconds greeting_time() const;
  double seconds() const { return static_cast<double>(all_.count()) / 1e3; }

  // Whether another attempt would end alike.
  static bool is_refusal(grpc::StatusCode code);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Milliseconds kLongestPause{2000};

  Milliseconds all_, longest_;
  std::optional<Clock::time_point> silent_;  // since when there was no answer, though there should be
  std::optional<Clock::time_point> opened_;  // the present connection, or the last one
  int attempts_ = 0;                         // that have failed, one after the other
};

}  // namespace headrace::distributed
