// Host memory: size classes over 2 MiB-aligned arenas that ask for huge pages. Small blocks come from a cache of the
// calling thread; nothing returns to the system below a watermark. Any thread may call any function.
#pragma once

#include "device/allocator.h"

namespace headrace {

Allocator& host_allocator();

}  // namespace headrace
