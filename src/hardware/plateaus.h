// Cache levels read off a latency curve: latency stays level while the memory fits into a cache, and rises beyond.
#pragma once

#include <span>
#include <vector>

#include "headrace/hardware.hpp"

namespace headrace::hardware {

struct Plateau {
  size_t largest_bytes;  // up to here the latency holds: the size of the cache
  double seconds;
};

// The level stretches of a curve whose sizes increase, from small to large; the last is memory if the curve reaches
// far enough. A stretch is level while latency grows by less than 40 % per doubling of the size; stretches whose
// latencies differ by less than half are one.
std::vector<Plateau> find_plateaus(std::span<const LatencyPoint> curve);

}  // namespace headrace::hardware
