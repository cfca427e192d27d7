// Copies of plain memory that leave the caches alone. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::simd {

// Results larger than this would only push everything else out of the caches: half of the last one, within bounds,
// since it is shared with other cores.
int64_t stream_bytes() noexcept;

// Copies past the caches, for large results that are not read again soon. The ranges do not overlap. Other threads may
// read the result only after stream_fence has been called in this thread.
void stream_copy(void* to, const void* from, size_t bytes) noexcept;
void stream_fence() noexcept;

}  // namespace headrace::simd
