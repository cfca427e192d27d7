#include "kvstore/parts.h"

#include <algorithm>

#include "kvstore/buckets.h"
#include "kvstore/packing.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

constexpr size_t kCacheBytes = size_t{16} << 20;  // more than this is not there any more when it is read again

}  // namespace

bool Part::is_sparse() const noexcept {
  const auto is = [](const NDArray& array) { return array.storage_kind() != StorageKind::kDense; };
  return is(entry().stored) || std::ranges::any_of(arrays, is);
}

Extent extent_of(std::span<const Part> parts) {
  size_t bytes = 0;
  for (const Part& part : parts)
    for (const NDArray& array : part.arrays) bytes += bytes_of(array);
  return bytes > kCacheBytes ? Extent::kBeyondCaches : Extent::kInCache;
}

void sort_by_keys(std::span<Part> parts) {
  std::ranges::sort(parts, {}, [](const Part& part) { return part.entry().order; });
}

std::vector<NDArray> stored_in(std::span<const Part> parts) {
  std::vector<NDArray> stored;
  for (const Part& part : parts) stored.push_back(part.entry().stored);
  return stored;
}

std::vector<NDArray> joined(std::span<const Part> parts) {
  std::vector<NDArray> all;
  for (size_t k = 0; k < parts[0].arrays.size(); ++k) {
    std::vector<NDArray> here;
    for (const Part& part : parts) here.push_back(part.arrays[k]);
    all.push_back(join(here));
  }
  return all;
}

void take_apart(std::span<const NDArray> arrived, std::span<const Part> parts) {
  for (size_t k = 0; k < arrived.size(); ++k) {
    const std::vector<NDArray> results = separate(arrived[k], stored_in(parts));
    for (size_t i = 0; i < parts.size(); ++i) copy_into(parts[i].arrays[k], results[i]);
  }
}

std::vector<Run> runs_of(std::span<const Part> parts, Joining joining) {
  std::vector<Run> runs;
  size_t bytes = 0;  // of the last run, on each device
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool joins = joining != Joining::kNone && i > 0 && bytes < kBucketBytes && !parts[i - 1].is_sparse() &&
                       !parts[i].is_sparse() &&
                       travel_together(parts[i - 1].arrays, parts[i].arrays, joining == Joining::kEverywhere);
    if (!joins) {
      runs.push_back({i, i});
      bytes = 0;
    }
    runs.back().end = i + 1;
    bytes += bytes_of(parts[i].arrays[0]);
  }
  return runs;
}

std::vector<StandIn> stand_ins_for(std::span<Part> parts) {
  std::vector<StandIn> made;
  for (Part& part : parts) {
    const DType dtype = part.entry().stored.dtype();
    for (NDArray& array : part.arrays) {
      if (array.dtype() == dtype) continue;
      made.push_back({array, NDArray::empty(array.shape(), dtype, array.device())});
      array = made.back().used;
    }
  }
  return made;
}

void deliver(std::span<const StandIn> stand_ins, bool keeps) {
  const KeepScope keep(keeps);
  for (const StandIn& one : stand_ins) copy_into(one.given, one.used);
}

}  // namespace headrace::kvstore
