// Latency curves that noise has bent: a larger memory that seems faster than a smaller one.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "headrace/hardware.hpp"

namespace headrace::hardware {

// Measures again, with `measure(bytes)`, each point that is slower than a larger one by more than measuring is precise,
// a few times if need be. Other work only ever makes things slower, so the least time of a point counts. Returns how
// many points were measured again.
int repeat_inversions(std::vector<LatencyPoint>& curve, const std::function<double(size_t)>& measure);

}  // namespace headrace::hardware
