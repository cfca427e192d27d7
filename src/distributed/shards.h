// Shards: which server holds which part of an array. All processes of a job come to the same answer by themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/kvstore.hpp"

namespace headrace::distributed {

using Shard = kvstore::Share;

// An array of at least `bound` elements lies on all servers, in equal parts; another one, and one that is not to be
// split, on the server that its key says. Parts begin at multiples of 16 elements. In the order of the elements.
std::vector<Shard> shards_of(const kvstore::Key& key, int64_t elements, size_t servers, int64_t bound, bool may_split);

}  // namespace headrace::distributed
