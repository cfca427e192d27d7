#include "headrace/nd.hpp"

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"
#include "ndarray/serialize.h"

namespace headrace::nd {

void save(const std::string& path, const NamedArrays& saved) {
  check(saved.names.empty() || saved.names.size() == saved.arrays.size(), ErrorKind::kValue,
        "nd.save: {} names for {} arrays; give one for each, or none", saved.names.size(), saved.arrays.size());
  check(std::ranges::all_of(saved.arrays, [](const NDArray& array) { return static_cast<bool>(array); }),
        ErrorKind::kType, "nd.save: an array is none; save those that have values");
  save_arrays(path, saved.arrays, saved.names, false);
}

NamedArrays load(const std::string& path) { return load_arrays(path); }

void waitall() { runtime().engine.wait_all(); }

}  // namespace headrace::nd
