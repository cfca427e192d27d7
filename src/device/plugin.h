// Libraries of backends that are loaded at run time. One exports headrace_backends(), C linkage, which is called once;
// what it gives lives as long as the process. It is built from the headers of the same source tree as this library:
// there is no stable binary interface, and another one is refused.
#pragma once

#include <cstdint>
#include <span>

#include "device/registry.h"

namespace headrace {

// Changes with every change of what backends implement.
inline constexpr uint32_t kBackendInterface = 3;

struct BackendLibrary {
  uint32_t interface = kBackendInterface;
  // For each device type that the library serves. Raises Error for a configuration that a backend cannot take. Called
  // only where the interface is the same.
  std::span<const BackendEntry> (*backends)() = nullptr;
};

inline constexpr const char* kBackendLibraryFunction = "headrace_backends";
using BackendLibraryFunction = const BackendLibrary* (*)();

// Loads a library that the user has named and gives its entries. Raises Error(kOs) when that cannot be.
std::span<const BackendEntry> load_backends(const char* path);
// The same for a library of ours; none where that cannot be: `why` says it. Raises Error(kOs) for one of another build.
std::span<const BackendEntry> find_own_backends(const char* file, std::string& why);

}  // namespace headrace
