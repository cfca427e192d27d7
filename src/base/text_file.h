// Files that are read whole as texts: topologies, symbols. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

// The bytes of a regular file. OSError, saying what is wrong and not naming the file: it is not there, cannot be read,
// is of another kind (which might never end, or never begin), or has more than `most_bytes`.
std::string read_text_file(const std::string& path, size_t most_bytes);

}  // namespace headrace
