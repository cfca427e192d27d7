// Libraries of ours that lie beside libheadrace.so and are loaded when they are needed: what they stand on takes long
// to load, or is not there. Any thread.
#pragma once

#include <string>

namespace headrace {

struct OwnLibrary {
  void* symbol = nullptr;  // null: it could not be loaded
  std::string why = {};    // then, the reason
};

// The symbol `name` of the library `file`, which stays until the process ends: its threads may be inside.
OwnLibrary load_own_library(const char* file, const char* name);

}  // namespace headrace
