// What the stand-in for NCCL makes of calls: sums of what ranks give, in the order of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stand_in {

enum Result {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7
};
enum Type { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kFloat16, kFloat32, kFloat64, kBfloat16, kTypes };

inline size_t size_of(Type type) {
  static constexpr size_t kSizes[kTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[type];
}

inline constexpr int kAll = -1;  // the root of what has none

// What a rank wants of the others.
struct Call {
  const char* name = "";
  size_t count = 0;
  Type type = kFloat32;
  int root = kAll;
  const char* from = nullptr;
  char* to = nullptr;
};

// Calls are of all ranks, of which those get the sum that the root says.
void add_up(const std::vector<Call>& calls);

}  // namespace stand_in
