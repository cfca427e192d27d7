// Libraries of NVIDIA's that are looked up when they are needed.
#pragma once

#include <span>
#include <string>

namespace headrace {

// The first of these that the machine has; it stays. Null: `why` says what the loader said of the first.
void* open_first_library(std::span<const std::string> names, std::string& why);

}  // namespace headrace
