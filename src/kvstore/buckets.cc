#include "kvstore/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headrace::kvstore {

size_t bytes_of(const NDArray& array) { return static_cast<size_t>(array.size()) * item_size(array.dtype()); }

std::vector<std::vector<size_t>> buckets(std::span<const NDArray> gradients, size_t bytes) {
  struct Open {
    std::vector<size_t> places;
    size_t bytes = 0;
  };
  std::vector<std::vector<size_t>> made;
  std::map<DType, Open> open;
  for (size_t place = 0; place < gradients.size(); ++place) {
    const NDArray& gradient = gradients[place];
    const size_t own = bytes_of(gradient);
    if (own >= bytes) {
      made.push_back({place});
      continue;
    }
    Open& bucket = open[gradient.dtype()];
    bucket.places.push_back(place);
    bucket.bytes += own;
    if (bucket.bytes >= bytes) made.push_back(std::exchange(bucket, {}).places);
  }
  for (auto& [dtype, bucket] : open)
    if (!bucket.places.empty()) made.push_back(std::move(bucket.places));
  std::ranges::sort(made, {}, [](const std::vector<size_t>& bucket) { return bucket.back(); });
  return made;
}

}  // namespace headrace::kvstore
