// What a thread has switched on: recording, training, the current device. Threads do not inherit it.
#pragma once

#include "headrace/device.hpp"

namespace headrace {

struct ThreadState {
  bool recording = false;
  bool training = false;
  bool tracing = false;             // operations are linked, not run (op/trace.h)
  bool keeps_compositions = false;  // while tracing: every call is one node, as in a symbol
  Device device = {};               // where creation operators put arrays
};

namespace detail {
extern constinit thread_local ThreadState thread_state;  // defined in the library, so that all modules share it
}

inline ThreadState& thread_state() noexcept { return detail::thread_state; }

}  // namespace headrace
