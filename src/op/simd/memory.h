// Copies and fills of plain memory. Any thread.
#pragma once

#include <cstddef>

namespace headrace {

// Copies past the caches, for large results that are not read again soon. The ranges do not overlap. The stores are
// visible to other threads when it returns.
void stream_copy(void* to, const void* from, size_t bytes) noexcept;

}  // namespace headrace
