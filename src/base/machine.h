// What the machine has, and what of it this process may use. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

int core_count() noexcept;           // cores this process may use
size_t page_bytes() noexcept;        // of the system's memory
int64_t physical_memory() noexcept;  // bytes, the limit of the process's control group taken into account

// Bytes that the process can take before the machine or its control group runs short of memory; the most there is where
// the system does not say. Reads files of the system: tens of microseconds.
int64_t available_memory() noexcept;
int64_t free_swap() noexcept;  // bytes; read as those

}  // namespace headrace
