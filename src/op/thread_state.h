// What a thread has switched on: recording, training, the current device, NumPy semantics. Threads do not inherit it.
#pragma once

#include "headrace/device.hpp"

namespace headrace {

struct ThreadState {
  bool recording = false;
  bool training = false;
  Device device;  // where creation operators put arrays
};

inline ThreadState& thread_state() noexcept {
  static thread_local ThreadState state;
  return state;
}

}  // namespace headrace
