// Loops that the threads of all blocks share: a thread takes its first element, and then every so manieth.
#pragma once

#include <cstdint>

namespace headrace::device {

// Shared memory of a block that asks for no more: the rest is opted in to.
constexpr size_t kMostSharedBytes = 48 << 10;

inline int64_t first_of_thread() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
inline int64_t all_threads() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

}  // namespace headrace::device
