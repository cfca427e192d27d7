// Memory of the host that GPUs read and write themselves, `cpu_pinned`: blocks that the driver has locked, kept by size
// class for reuse. Lives as long as the process; any thread may call any function.
#pragma once

#include <mutex>

#include "device/allocator.h"

namespace headrace {

// There is a driver.
Allocator& pinned_memory();
// What it holds while it works; for fork().
std::mutex& pinned_memory_lock();

}  // namespace headrace
