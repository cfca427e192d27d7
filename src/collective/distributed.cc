// The public exchanges (headrace/distributed.hpp) over the group of this process.

#include "headrace/distributed.hpp"

#include "base/check.h"
#include "collective/operations.h"
#include "collective/process_group.h"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

using collective::Fold;

constexpr std::string_view kMean = "mean";

Fold fold_of(const char* operation, std::string_view reduction, const NDArray& array) {
  check(reduction != kMean || is_floating(array.dtype()), ErrorKind::kType,
        "{}: the reduction 'mean' needs an array of floats, got {}; use 'sum' and divide, or cast it", operation,
        dtype_name(array.dtype()));
  if (reduction == "sum" || reduction == kMean) return Fold::kSum;
  if (reduction == "max") return Fold::kMax;
  if (reduction == "min") return Fold::kMin;
  fail(ErrorKind::kValue, "{}: there is no reduction '{}'; known are sum, mean, max, min", operation, reduction);
}

void check_array(const char* operation, const NDArray& array) {
  check(static_cast<bool>(array), ErrorKind::kType, "{}: expected an array, got none", operation);
  check(array.storage_kind() == StorageKind::kDense, ErrorKind::kType,
        "{}: expected a dense array, got {}; tostype('default') gives one", operation,
        storage_kind_name(array.storage_kind()));
}

std::string stream_of(std::string_view name) { return name.empty() ? std::string() : fmt::format("'{}'", name); }

// What `reduce` makes of an array; of a mean the sum. Narrow floats are divided before they are rounded, as the sum may
// be too large for them where the mean is not.
template <class Reduce>
NDArray reduced(const NDArray& array, std::string_view reduction, const Reduce& reduce) {
  if (reduction != kMean || size() == 1) return reduce(array);
  const NDArray sum = reduce(item_size(array.dtype()) < sizeof(float) ? cast_to(array, DType::kFloat32) : array);
  return cast_to(call("_div_scalar", {sum}, {{"scalar", static_cast<double>(size())}}), array.dtype());
}

}  // namespace

void init() { collective::process_group(); }
bool is_initialized() { return collective::has_process_group(); }
void shutdown() { collective::leave_process_group(); }
void abandon(const std::string& why) { collective::leave_process_group(why); }

int rank() { return collective::process_group().rank(); }
int size() { return collective::process_group().size(); }
int local_rank() { return static_cast<int>(collective::process_group().machines().local()); }
int local_size() { return static_cast<int>(collective::process_group().machines().local_size()); }
void barrier() { collective::barrier(collective::process_group()); }
bool others_go_on() { return collective::process_group().others_go_on(); }

NDArray all_reduce(const NDArray& array, std::string_view reduction, std::string_view name) {
  check_array("all_reduce", array);
  const Fold fold = fold_of("all_reduce", reduction, array);
  return reduced(array, reduction, [&](const NDArray& value) {
    return collective::all_reduce(collective::process_group(), stream_of(name), fold, value);
  });
}

NDArray reduce_scatter(const NDArray& array, std::string_view reduction, std::string_view name) {
  check_array("reduce_scatter", array);
  const Fold fold = fold_of("reduce_scatter", reduction, array);
  return reduced(array, reduction, [&](const NDArray& value) {
    return collective::reduce_scatter(collective::process_group(), stream_of(name), fold, value);
  });
}

NDArray all_gather(const NDArray& array, std::string_view name) {
  check_array("all_gather", array);
  return collective::all_gather(collective::process_group(), stream_of(name), array);
}

NDArray broadcast(const NDArray& array, int root, std::string_view name) {
  check_array("broadcast", array);
  return collective::broadcast(collective::process_group(), stream_of(name), array, root);
}

std::vector<std::byte> broadcast_bytes(std::span<const std::byte> bytes, int root) {
  return collective::broadcast_bytes(collective::process_group(), "", bytes, root);
}

std::vector<std::vector<std::byte>> all_gather_bytes(std::span<const std::byte> bytes) {
  return collective::gather_bytes(collective::process_group(), "", bytes);
}

}  // namespace headrace::distributed
