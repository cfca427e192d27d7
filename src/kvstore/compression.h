// Compression: what is pushed, at two bits an element on its way. Any thread.
#pragma once

#include <span>
#include <vector>

#include "headrace/kvstore.hpp"

namespace headrace::kvstore {

// Raises ValueError for a threshold that is not positive, in float32, in which elements are compared with it.
void check_compression(const TwoBitCompression& compression);

// What has arrived at `home` of values that are sent at two bits an element. `residuals` has for each of them what
// earlier ones left out, is given what these leave out, and follows the values to their devices; what it has for
// devices without a value stays. A value that is at home already is quantised as well, so that all devices count alike.
std::vector<NDArray> send_compressed(const TwoBitCompression& compression, std::span<const NDArray> values,
                                     std::vector<NDArray>& residuals, Device home);

}  // namespace headrace::kvstore
