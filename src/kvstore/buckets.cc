#include "kvstore/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headrace::kvstore {

std::vector<std::vector<size_t>> buckets(std::span<const NDArray> gradients, size_t bytes) {
  struct Open {
    std::vector<size_t> places;
    size_t bytes = 0;
  };
  std::vector<std::vector<size_t>> made;
  std::map<DType, Open> open;
  for (size_t place = 0; place < gradients.size(); ++place) {
    const NDArray& gradient = gradients[place];
    const size_t own = static_cast<size_t>(gradient.size()) * item_size(gradient.dtype());
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
