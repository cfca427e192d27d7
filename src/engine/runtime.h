// The one root of the library's state. Made at first use, from any thread; deliberately never destroyed, because
// threads and destructors may use it until the process ends. At exit it drains the engine and joins its threads.
#pragma once

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

}  // namespace headrace
