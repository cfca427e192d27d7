// Batches over several devices.
#pragma once

#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::gluon::utils {

// Slices of `data` along `batch_axis` (negative: counted from the last), views of its memory. ValueError: there is no
// such axis, `num_slice` < 1, or `even_split` and the extent is not a multiple of `num_slice`; without it the first
// slices get one more.
std::vector<NDArray> split_data(const NDArray& data, int64_t num_slice, int64_t batch_axis = 0, bool even_split = true);
// The same, with a slice on each device. ValueError: no devices.
std::vector<NDArray> split_and_load(const NDArray& data, const std::vector<Device>& devices, int64_t batch_axis = 0,
                                    bool even_split = true);

}  // namespace headrace::gluon::utils
