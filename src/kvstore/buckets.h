// Which gradients travel together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::kvstore {

// Latency rules the time of small gradients, bandwidth that of large ones; at this size both count about the same.
inline constexpr size_t kBucketBytes = size_t{1} << 20;

// Of its elements.
size_t bytes_of(const NDArray& array);

// Places in `gradients`, which come in the order in which backward completes them: small ones of one dtype share a
// bucket until they have `bytes` together, larger ones are alone. Buckets, and the places in each, are in the order of
// completion; a bucket is complete with its last gradient.
std::vector<std::vector<size_t>> buckets(std::span<const NDArray> gradients, size_t bytes = kBucketBytes);

}  // namespace headrace::kvstore
