#include "op/simd/memory.h"

#include <cstring>

namespace headrace {

void stream_copy(void* to, const void* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }

}  // namespace headrace
