// The streams of a simulated machine in virtual time, numbered: the host's cores, and for each GPU one of each role and
// one for the copies from each other GPU.
#pragma once

#include <string>

#include "device/stream_role.h"

namespace headrace::sim {

inline constexpr int kHost = -1;

struct StreamPlace {
  int gpu = kHost;
  StreamRole role = StreamRole::kCompute;  // of a GPU
  int sender = -1;  // of a stream for copies between GPUs: the one that sends; its role is kCommunication

  std::string device() const { return gpu == kHost ? "host" : "gpu(" + std::to_string(gpu) + ")"; }
  std::string name() const {
    if (gpu == kHost) return "cores";
    return sender < 0 ? role_name(role) : "from gpu(" + std::to_string(sender) + ")";
  }
};

class StreamNumbers {
 public:
  explicit StreamNumbers(int gpus) noexcept : gpus_(gpus) {}

  int count() const noexcept { return 1 + gpus_ * of_each(); }
  int number(const StreamPlace& place) const noexcept {
    if (place.gpu == kHost) return 0;
    return 1 + place.gpu * of_each() +
           (place.sender < 0 ? static_cast<int>(place.role) : kStreamRoleCount + place.sender);
  }
  StreamPlace place(int number) const noexcept {
    if (number == 0) return {};
    const int gpu = (number - 1) / of_each(), rest = (number - 1) % of_each();
    if (rest < kStreamRoleCount) return {gpu, static_cast<StreamRole>(rest)};
    return {gpu, StreamRole::kCommunication, rest - kStreamRoleCount};
  }

 private:
  int of_each() const noexcept { return kStreamRoleCount + gpus_; }

  int gpus_;
};

}  // namespace headrace::sim
