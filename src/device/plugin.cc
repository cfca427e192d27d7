#include "device/plugin.h"

#include <dlfcn.h>

#include "base/check.h"

namespace headrace {

// It stays: threads may be inside, and memory of its devices may outlive whatever could end it.
std::span<const BackendEntry> load_backends(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* const why = library ? nullptr : dlerror();
  check(library != nullptr, ErrorKind::kOs, "HEADRACE_BACKENDS: '{}' cannot be loaded: {}", path,
        why ? why : "no reason was given");
  const auto get = reinterpret_cast<BackendLibraryFunction>(dlsym(library, kBackendLibraryFunction));
  check(get != nullptr, ErrorKind::kOs, "HEADRACE_BACKENDS: '{}' is no library of backends: it has no {}()", path,
        kBackendLibraryFunction);
  const BackendLibrary& found = *get();
  check(found.interface == kBackendInterface, ErrorKind::kOs,
        "HEADRACE_BACKENDS: '{}' was built for interface {} of backends, but this library has {}; build both from the "
        "same sources",
        path, found.interface, kBackendInterface);
  return found.backends();
}

}  // namespace headrace
