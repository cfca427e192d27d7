// Arrays in files, in MXNet's format, and waiting for all of them. Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

struct NamedArrays {
  std::vector<NDArray> arrays = {};
  std::vector<std::string> names = {};  // empty, or one for each array
};

namespace nd {

// Waits for the arrays. ValueError: there are names, and not one for each array. RuntimeError: the file cannot be
// written.
void save(const std::string& path, const NamedArrays& saved);
// Arrays of the file that are none are none. MXNetError: it is missing or broken.
NamedArrays load(const std::string& path);

// Blocks until everything that was stated so far is done; raises an error that nobody has read.
void waitall();

}  // namespace nd
}  // namespace headrace
