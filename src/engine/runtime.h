// The one root of the library's state. Made at first use, from any thread; deliberately never destroyed, because
// threads and destructors may use it until the process ends. At exit it drains the engine and joins its threads.
#pragma once

#include <utility>

#include "base/config.h"
#include "engine/engine.h"

namespace headrace {

struct Runtime {
  const Config& config;
  Engine engine;

  // Runs everything queued and ends the threads. Use after it is legal.
  void shutdown() noexcept;
};

Runtime& runtime();

// One lazily made T per process for upper layers: random generators, caches of primitives.
template <class T>
T& service() {
  static T* const instance = new T();
  return *instance;
}

// Whether this is the thread that began the process.
bool is_main_thread() noexcept;

// One T per thread that asks, destroyed with the thread. The main thread's is never destroyed: work that is left at
// exit runs there, after the destructors of the thread's own variables.
template <class T>
T& thread_service() {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local T* object = nullptr;
  if (!object) {
    struct Owner {
      ~Owner() {
        if (!is_main_thread()) delete std::exchange(object, nullptr);
      }
    };
    object = new T();
    static thread_local Owner owner;
    static_cast<void>(owner);
  }
  return *object;
}

}  // namespace headrace
