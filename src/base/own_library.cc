#include "base/own_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace headrace {
namespace {

// Beside the library that this is part of.
std::string place_of(const char* file) {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&load_own_library), &own) == 0) return file;
  return (std::filesystem::path(own.dli_fname).parent_path() / file).string();
}

std::string reason() {
  const char* const why = dlerror();
  return why ? why : "no reason was given";
}

}  // namespace

OwnLibrary load_own_library(const char* file, const char* name) {
  void* const library = dlopen(place_of(file).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return {nullptr, reason()};
  void* const symbol = dlsym(library, name);
  return {symbol, symbol ? std::string() : reason()};
}

}  // namespace headrace
