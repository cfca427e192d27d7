// Pointer chase: every line of a piece of memory holds the address of another one, all of them in one cycle in random
// order. Each access needs the result of the one before, and no prefetcher can guess it: what is left is latency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hardware/region.h"
#include "hardware/timing.h"

namespace headrace::hardware {

// Links all whole lines of `memory` (at least one) into a cycle that is the same for a seed; returns a line of it.
void** link_cycle(std::span<std::byte> memory, uint64_t seed);

// The line that is `steps` accesses further.
void** follow(void** line, int64_t steps) noexcept;

// Mean seconds of an access when chasing through `memory`, in the calling thread. Overwrites `memory`.
double chase_seconds(std::span<std::byte> memory, const Effort& effort);

}  // namespace headrace::hardware
