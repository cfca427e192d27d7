// Small arrays that go the same way travel as one: joined on the device that sends them, taken apart where they arrive.
#pragma once

#include <span>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::kvstore {

// Whether arrays for two keys, each a list over devices, may share their way: they are small, of one dtype, on the same
// devices in the same order, and no device is the host, where nothing has to be sent, unless it is `from_host` as well.
bool travel_together(std::span<const NDArray> a, std::span<const NDArray> b, bool from_host = false);

// One array of one dimension with the elements of `arrays`, which are on one device, one after the other.
NDArray join(std::span<const NDArray> arrays);
// Memory on `device` for what join() makes of such arrays.
NDArray room_for(std::span<const NDArray> arrays, Device device);
// The parts of what was joined, as views with the shapes of `arrays`.
std::vector<NDArray> separate(const NDArray& joined, std::span<const NDArray> arrays);

}  // namespace headrace::kvstore
