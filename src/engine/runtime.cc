#include "engine/runtime.h"

#include <cstdlib>

namespace headrace {

void Runtime::shutdown() noexcept { engine.shutdown(); }

Runtime& runtime() {
  static Runtime& instance = [&]() -> Runtime& {
    auto* made = new Runtime{config(), Engine(config())};
    std::atexit([] { runtime().shutdown(); });
    return *made;
  }();
  return instance;
}

}  // namespace headrace
