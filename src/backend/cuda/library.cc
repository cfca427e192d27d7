#include "backend/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace headrace {

void* open_first_library(std::span<const std::string> names, std::string& why) {
  for (const std::string& name : names) {
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
    if (const char* const reason = dlerror(); reason && why.empty()) why = reason;
  }
  return nullptr;
}

void* symbol_of(void* library, const char* name, std::string& why) {
  void* const symbol = dlsym(library, name);
  if (!symbol && why.empty()) why = fmt::format("the library has no {}", name);
  return symbol;
}

}  // namespace headrace
