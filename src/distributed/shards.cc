#include "distributed/shards.h"

#include <algorithm>
#include <string_view>

namespace headrace::distributed {
namespace {

// FNV-1a: the same everywhere, which std::hash is not.
uint64_t hash_of_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash ^ (hash >> 32);
}

uint64_t hash_of(const kvstore::Key& key) {
  const auto* number = std::get_if<int64_t>(&key);
  return hash_of_text(number ? std::to_string(*number) : std::get<std::string>(key));
}

}  // namespace

std::vector<Shard> shards_of(const kvstore::Key& key, int64_t elements, size_t servers, int64_t bound, bool may_split) {
  constexpr int64_t kStep = 16;
  if (!may_split || elements < bound || servers == 1 || elements < kStep * static_cast<int64_t>(servers))
    return {{hash_of(key) % servers, 0, elements}};
  std::vector<Shard> shards;
  const auto count = static_cast<int64_t>(servers);
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t end = i + 1 == count ? elements : (elements / count * (i + 1)) / kStep * kStep;
    shards.push_back({static_cast<size_t>(i), begin, end});
    begin = end;
  }
  return shards;
}

}  // namespace headrace::distributed
