// Compiled kernels in files, one each, for later processes. Files are written whole or not at all, and a file that does
// not hold what it should is made anew.
#pragma once

#include <string>

#include "base/function_ref.h"

namespace headrace {

// What `make` gave for this key, now or in an earlier process. Where the folder cannot be written it is made each time,
// which is said once. Who asks while another thread or process makes it waits for that. Any thread.
std::string cached_kernel(const std::string& key, FunctionRef<std::string()> make);

}  // namespace headrace
