// Loops in the widest vectors of the machine. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::hardware {

// Reads all bytes, whole vectors at a time from `data` on, wherever that lies. Returns a sum that depends on them.
uint64_t read_all(const std::byte* data, size_t bytes) noexcept;

// Adds a vector to each of several independent sums, `times` times. Returns how many numbers were added.
int64_t add_vectors(int64_t times) noexcept;

// `times` fused multiply-adds, each of which needs the result of the one before.
float multiply_add_chain(float x, int64_t times) noexcept;

}  // namespace headrace::hardware
