#include "kvstore/entries.h"

#include <set>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

std::string type_text(const NDArray& array) {
  return fmt::format("shape {} of {}", to_string(array.shape()), dtype_name(array.dtype()));
}

void check_kind(const char* operation, const Key& key, const NDArray& array) {
  check(
      array.storage_kind() != StorageKind::kCsr, ErrorKind::kRuntime,
      "kvstore {}: key {}: stores hold dense and row_sparse arrays, but one is stored as csr; tostype('default') gives "
      "a dense one",
      operation, to_string(key));
}

void check_single(const char* operation, const Key& key, std::span<const NDArray> arrays) {
  check(arrays.size() == 1, ErrorKind::kValue, "kvstore {}: key {}: expected one array, got {}", operation,
        to_string(key), arrays.size());
  check(static_cast<bool>(arrays[0]), ErrorKind::kValue,
        "kvstore {}: key {}: the array is none; give one that has values", operation, to_string(key));
  check_kind(operation, key, arrays[0]);
}

void check_array(const char* operation, const std::pair<const Key, Entry>& place, const NDArray& array, size_t number) {
  const NDArray& stored = place.second.stored;
  check(static_cast<bool>(array), ErrorKind::kType, "kvstore {}: key {}: array {} is missing", operation,
        to_string(place.first), number);
  check(array.shape() == stored.shape(), ErrorKind::kValue,
        "kvstore {}: key {}: stored is {}, but array {} has {}; all arrays of a key have the shape it was inited with",
        operation, to_string(place.first), type_text(stored), number, type_text(array));
  check_kind(operation, place.first, array);
}

}  // namespace

std::string to_string(const Key& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return fmt::format("{}", *number);
  return fmt::format("'{}'", std::get<std::string>(key));
}

void Entries::check_key_type(const char* operation, const Key& key) const {
  if (entries_.empty()) return;
  const Key& known = entries_.begin()->first;
  check(key.index() == known.index(), ErrorKind::kRuntime,
        "kvstore {}: Mixed key types are not allowed: key {} among keys such as {}; use numbers or texts for all",
        operation, to_string(key), to_string(known));
}

void Entries::check_new(std::span<const Item> items) const {
  std::set<Key> added;
  for (const Item& item : items) {
    check_key_type("init", item.key);
    check(item.key.index() == items[0].key.index(), ErrorKind::kRuntime,
          "kvstore init: Mixed key types are not allowed: keys {} and {}; use numbers or texts for all",
          to_string(items[0].key), to_string(item.key));
    check_single("init", item.key, item.arrays);
    const bool is_new = !entries_.contains(item.key) && added.insert(item.key).second;
    check(is_new, ErrorKind::kRuntime,
          "kvstore init: duplicate init of key {}. Please double check if you called kv.init or kv.broadcast with this "
          "key multiple times",
          to_string(item.key));
  }
}

Entry& Entries::add(const Key& key, NDArray stored) {
  const auto* number = std::get_if<int64_t>(&key);
  Entry entry{.order = number ? *number : static_cast<int64_t>(entries_.size()),
              .dtype = stored.dtype(),
              .stored = std::move(stored),
              .reduced = {},
              .residuals = {}};
  return entries_.emplace(key, std::move(entry)).first->second;
}

std::pair<const Key, Entry>& Entries::find(const char* operation, const Key& key) {
  check_key_type(operation, key);
  const auto found = entries_.find(key);
  check(found != entries_.end(), ErrorKind::kRuntime,
        "kvstore {}: key {} has not been inited; call init or broadcast "
        "with it first",
        operation, to_string(key));
  return *found;
}

std::vector<Part> Entries::parts_of(const char* operation, std::span<const Item> items) {
  std::vector<Part> parts;
  std::map<const Entry*, size_t> known;
  for (const Item& item : items) {
    std::pair<const Key, Entry>& place = find(operation, item.key);
    check(!item.arrays.empty(), ErrorKind::kValue, "kvstore {}: key {}: there are no arrays; give one for each device",
          operation, to_string(item.key));
    const auto [number, is_new] = known.try_emplace(&place.second, parts.size());
    if (is_new) parts.push_back({&place, {}});
    std::vector<NDArray>& arrays = parts[number->second].arrays;
    for (const NDArray& array : item.arrays) {
      check_array(operation, place, array, arrays.size());
      arrays.push_back(array.detach());
    }
  }
  return parts;
}

std::vector<Part> Entries::single_parts_of(const char* operation, std::span<const Item> items) {
  std::vector<Part> parts = parts_of(operation, items);
  for (const Part& part : parts) check_single(operation, part.key(), part.arrays);
  return parts;
}

}  // namespace headrace::kvstore
