// Which elements reach a threshold. Any thread.
#pragma once

#include <cstdint>
#include <tuple>

namespace headrace {

// Writes the positions i in [0, n), ascending, where x[i] is not below `limit` (`ascending`: not above it); NaN is
// neither. `positions` has room for n. Returns how many. For the compute types.
template <class T>
using ReachFn = int64_t (*)(const T* x, int64_t n, T limit, bool ascending, int32_t* positions) noexcept;

using ReachTable = std::tuple<ReachFn<float>, ReachFn<double>, ReachFn<int32_t>, ReachFn<int64_t>, ReachFn<uint64_t>>;
const ReachTable& reach_table() noexcept;  // for this machine

template <class T>
ReachFn<T> positions_that_reach() noexcept {
  return std::get<ReachFn<T>>(reach_table());
}

}  // namespace headrace
