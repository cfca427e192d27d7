#include "kvstore/packing.h"

#include <algorithm>

#include "kvstore/buckets.h"
#include "op/invoke.h"

namespace headrace::kvstore {
namespace {

bool is_small(const NDArray& array) { return bytes_of(array) < kBucketBytes; }

Shape flat_shape(std::span<const NDArray> arrays) {
  int64_t size = 0;
  for (const NDArray& array : arrays) size += array.size();
  return {size};
}

}  // namespace

bool travel_together(std::span<const NDArray> a, std::span<const NDArray> b, bool from_host) {
  return std::ranges::equal(a, b, [from_host](const NDArray& one, const NDArray& other) {
    return is_small(one) && is_small(other) && one.dtype() == other.dtype() && one.device() == other.device() &&
           (from_host || !one.device().is_host());
  });
}

NDArray join(std::span<const NDArray> arrays) {
  static const OpDef& concat = find_op("Concat");
  std::vector<NDArray> flat;
  for (const NDArray& array : arrays) {
    const NDArray packed = contiguous(array);
    flat.push_back(view_of(packed, {{packed.size()}, {1}, packed.view()->offset()}));
  }
  const auto count = static_cast<int64_t>(flat.size());
  return invoke_all(concat, attrs_of(concat, {{"dim", int64_t{0}}, {"num_args", count}}), flat)[0];
}

NDArray room_for(std::span<const NDArray> arrays, Device device) {
  return NDArray::empty(flat_shape(arrays), arrays[0].dtype(), device);
}

std::vector<NDArray> separate(const NDArray& joined, std::span<const NDArray> arrays) {
  std::vector<NDArray> parts;
  int64_t offset = joined.view()->offset();
  for (const NDArray& array : arrays) {
    parts.push_back(view_of(joined, {array.shape(), contiguous_strides(array.shape()), offset}));
    offset += array.size();
  }
  return parts;
}

}  // namespace headrace::kvstore
