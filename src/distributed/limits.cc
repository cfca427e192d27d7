#include "distributed/limits.h"

#include "base/check.h"
#include "base/machine.h"

namespace headrace::distributed {

Holdings::Holdings(const Limits& limits) noexcept
    : most_keys_(limits.keys),
      most_bytes_(limits.held_bytes ? limits.held_bytes : static_cast<size_t>(physical_memory())) {}

Holdings::Hold Holdings::hold(const kvstore::Key& key, size_t bytes) {
  check(bytes <= most_bytes_ - bytes_, ErrorKind::kValue,
        "key {}: the server holds {} bytes of arrays for this job, and {} more pass the limit of {}; start more "
        "servers, or raise HEADRACE_MAX_SERVER_MB",
        kvstore::to_string(key), bytes_, bytes, most_bytes_);
  bytes_ += bytes;
  return {this, {bytes}};
}

Holdings::Hold Holdings::hold_new(const kvstore::Key& key, size_t bytes) {
  check(keys_ < most_keys_, ErrorKind::kValue,
        "key {}: the server holds {} keys for this job, which is the limit; start more servers, or raise "
        "HEADRACE_MAX_KEYS",
        kvstore::to_string(key), keys_);
  Hold held = hold(key, bytes);
  ++keys_;
  return held;
}

}  // namespace headrace::distributed
