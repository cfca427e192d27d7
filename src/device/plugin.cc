#include "device/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/check.h"
#include "base/own_library.h"

namespace headrace {
namespace {

std::span<const BackendEntry> backends_from(void* function, const char* setting, const char* path) {
  const BackendLibrary& found = *reinterpret_cast<BackendLibraryFunction>(function)();
  check(found.interface == kBackendInterface, ErrorKind::kOs,
        "{}: '{}' was built for interface {} of backends, but this library has {}; build both from the same sources",
        setting, path, found.interface, kBackendInterface);
  return found.backends();
}

}  // namespace

// It stays: threads may be inside, and memory of its devices may outlive whatever could end it.
std::span<const BackendEntry> load_backends(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* const why = library ? nullptr : dlerror();
  check(library != nullptr, ErrorKind::kOs, "HEADRACE_BACKENDS: '{}' cannot be loaded: {}", path,
        why ? why : "no reason was given");
  void* const function = dlsym(library, kBackendLibraryFunction);
  check(function != nullptr, ErrorKind::kOs, "HEADRACE_BACKENDS: '{}' is no library of backends: it has no {}()", path,
        kBackendLibraryFunction);
  return backends_from(function, "HEADRACE_BACKENDS", path);
}

std::span<const BackendEntry> find_own_backends(const char* file, std::string& why) {
  const OwnLibrary loaded = load_own_library(file, kBackendLibraryFunction);
  if (loaded.symbol) return backends_from(loaded.symbol, "headrace", file);
  why = fmt::format("this build of headrace has no {} that can be loaded: {}", file, loaded.why);
  return {};
}

}  // namespace headrace
