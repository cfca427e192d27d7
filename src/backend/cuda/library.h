// Libraries of NVIDIA's that are looked up when they are needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace headrace {

// The first of these that the machine has; it stays. Null: `why` says what the loader said of the first.
void* open_first_library(std::span<const std::string> names, std::string& why);

// Null: `why` says that the library lacks it, unless it says something already.
void* symbol_of(void* library, const char* name, std::string& why);

// What sets pointers to functions of a library: set(made.create, "cudnnCreate"). As symbol_of().
inline auto functions_of(void* library, std::string& why) {
  return [library, &why]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(symbol_of(library, name, why));
  };
}

// The largest power of two, up to `most`, of which an address, or all addresses whose bits these are, is a multiple.
inline uintptr_t alignment_of(uintptr_t bits, uintptr_t most) noexcept {
  return bits == 0 ? most : std::min(bits & (~bits + 1), most);
}

// Of what the plan of a library depends on.
inline size_t hash_of_shape(std::span<const int64_t> values) noexcept {
  size_t hash = 0;
  for (const int64_t value : values) hash = hash * 0x9e3779b97f4a7c15 + static_cast<size_t>(value);
  return hash;
}

}  // namespace headrace
