// Numbers of bytes as people write them.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace {

inline constexpr int64_t kMostBytes = 1'000'000'000'000'000;

// "160MB" is 160e6, "64 MiB" 64 * 2^20, "1.5kb" 1500, "12" 12: a number and, if there is one, a unit from B to TiB in
// either case. Raises ValueError, beginning with `what`, for other texts, for parts of a byte, and above kMostBytes.
int64_t parse_bytes(std::string_view text, std::string_view what);

}  // namespace headrace
