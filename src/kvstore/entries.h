// Entries: what a store holds for its keys, and what is wrong with keys and arrays of a call. Belongs to its store.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headrace/kvstore.hpp"

namespace headrace::kvstore {

struct Entry {
  int64_t order;                  // among the keys of a call: a number itself, of a text how many were inited before it
  DType dtype;                    // of init
  NDArray stored;                 // of another dtype after one array of that was pushed alone
  NDArray reduced;                // what an updater is given; kept from push to push, unless it is a share
  bool may_be_shared = false;     // it was in host memory on all ranks at init, and nothing sparse has been pushed
  bool has_shared_state = false;  // an updater has been given shares of it
  std::vector<NDArray> residuals;  // of the compression, by place in the list of values
};

// A key of a call, with all arrays that the call gives for it, without their history.
struct Part {
  std::pair<const Key, Entry>* place;
  std::vector<NDArray> arrays;

  const Key& key() const noexcept { return place->first; }
  Entry& entry() const noexcept { return place->second; }
  // Whether what is stored or an array of the call is row_sparse: such parts travel alone, and stay on the host.
  bool is_sparse() const noexcept;
};

class Entries {
 public:
  // Raises what KVStore::init says of its items.
  void check_new(std::span<const Item> items) const;
  // A key that check_new() has seen.
  Entry& add(const Key& key, NDArray stored);

  // The keys of a call, each once, in the order in which they first appear. `operation` names the call in errors, which
  // are those of every call (headrace/kvstore.hpp).
  std::vector<Part> parts_of(const char* operation, std::span<const Item> items);
  // The same; raises ValueError unless there is one array for each.
  std::vector<Part> single_parts_of(const char* operation, std::span<const Item> items);
  // Raises MXNetError for an unknown key.
  const Entry& entry_of(const char* operation, const Key& key) { return find(operation, key).second; }

 private:
  void check_key_type(const char* operation, const Key& key) const;
  std::pair<const Key, Entry>& find(const char* operation, const Key& key);

  std::map<Key, Entry> entries_;
};

}  // namespace headrace::kvstore
