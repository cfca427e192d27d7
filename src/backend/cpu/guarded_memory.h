// Blocks that show who reads or writes beyond them, generated machine code and foreign libraries among them, into which
// no sanitizer looks. A block ends at a page that cannot be touched; the bytes around it that share its pages hold a
// pattern, which is looked at when it is released. Slow: each block has mappings of its own. Any thread.
#pragma once

#include <cstddef>

namespace headrace {

// Aligned to size_class::kGranule; null: the system gives nothing.
void* guarded_allocate(size_t bytes) noexcept;
// `bytes` as in guarded_allocate(). Ends the process with a message when bytes around the block were written. From then
// on the memory cannot be touched.
void guarded_release(void* block, size_t bytes) noexcept;

}  // namespace headrace
