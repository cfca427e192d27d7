// What a thread has switched on: recording, training, the current device, how urgent its work is. Threads do not
// inherit it.
#pragma once

#include "engine/engine.h"
#include "headrace/device.hpp"

namespace headrace {

struct ThreadState {
  bool recording = false;
  uint32_t tape = 0;  // of what is recorded, its own number; backward without retain_graph begins another one
  bool training = false;
  bool tracing = false;                   // operations are linked, not run (op/trace.h)
  bool keeps_compositions = false;        // while tracing: every call is one node, as in a symbol
  bool composing = false;                 // calls that are given no arrays make symbols, where the frontend has them
  Device device = {};                     // where creation operators put arrays
  Priority priority = Priority::kNormal;  // of the operations that it issues
  int urgency = 0;                        // likewise, among operations of that priority
  bool keeps = false;                     // whether their out= keep their values when they fail
  const char* issuer = nullptr;           // the custom operator whose code is running, interned, where it is recorded
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadState
    thread_state;  // defined in the library, so that all modules share it
}

inline ThreadState& thread_state() noexcept { return detail::thread_state; }

// What is recorded from now on is on another tape than what was.
void begin_tape() noexcept;
// Switches recording on or off, and begins a tape where it was off; gives what it was.
bool switch_recording(bool on) noexcept;

// While it lives the state of its thread is another one; then it is again what it was, whatever has been set meanwhile.
class ThreadStateScope {
 public:
  // `change` is given the state to change.
  template <class Change>
  explicit ThreadStateScope(Change&& change) : outer_(thread_state()) {
    change(thread_state());
  }
  ~ThreadStateScope() { thread_state() = outer_; }
  ThreadStateScope(const ThreadStateScope&) = delete;
  ThreadStateScope& operator=(const ThreadStateScope&) = delete;

 private:
  const ThreadState outer_;
};

inline constexpr auto kWithoutRecording = [](ThreadState& state) { state.recording = false; };

// Operations that this thread issues while it lives have that priority and urgency.
class PriorityScope : public ThreadStateScope {
 public:
  PriorityScope(Priority priority, int urgency)
      : ThreadStateScope([&](ThreadState& state) {
          state.priority = priority;
          state.urgency = urgency;
        }) {}
};

// What operations that this thread issues while it lives write into given arrays keeps its value when they fail.
class KeepScope : public ThreadStateScope {
 public:
  explicit KeepScope(bool keeps) : ThreadStateScope([=](ThreadState& state) { state.keeps = keeps; }) {}
};

}  // namespace headrace
