// What a thread has switched on: recording, training, the current device, how urgent its work is. Threads do not
// inherit it.
#pragma once

#include <utility>

#include "engine/engine.h"
#include "headrace/device.hpp"

namespace headrace {

struct ThreadState {
  bool recording = false;
  bool training = false;
  bool tracing = false;                   // operations are linked, not run (op/trace.h)
  bool keeps_compositions = false;        // while tracing: every call is one node, as in a symbol
  bool composing = false;                 // calls that are given no arrays make symbols, where the frontend has them
  Device device = {};                     // where creation operators put arrays
  Priority priority = Priority::kNormal;  // of the operations that it issues
  int urgency = 0;                        // likewise, among operations of that priority
  bool keeps = false;                     // whether their out= keep their values when they fail
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadState
    thread_state;  // defined in the library, so that all modules share it
}

inline ThreadState& thread_state() noexcept { return detail::thread_state; }

// Operations that this thread issues while it lives have that priority and urgency.
class PriorityScope {
 public:
  PriorityScope(Priority priority, int urgency) noexcept
      : outer_(std::exchange(thread_state().priority, priority)),
        outer_urgency_(std::exchange(thread_state().urgency, urgency)) {}
  ~PriorityScope() {
    thread_state().priority = outer_;
    thread_state().urgency = outer_urgency_;
  }
  PriorityScope(const PriorityScope&) = delete;
  PriorityScope& operator=(const PriorityScope&) = delete;

 private:
  const Priority outer_;
  const int outer_urgency_;
};

// What operations that this thread issues while it lives write into given arrays keeps its value when they fail.
class KeepScope {
 public:
  explicit KeepScope(bool keeps) noexcept : outer_(std::exchange(thread_state().keeps, keeps)) {}
  ~KeepScope() { thread_state().keeps = outer_; }
  KeepScope(const KeepScope&) = delete;
  KeepScope& operator=(const KeepScope&) = delete;

 private:
  const bool outer_;
};

}  // namespace headrace
