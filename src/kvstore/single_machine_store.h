// The key-value store of one process and the devices of its machine. What moves arrays is a Communicator.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/kvstore.hpp"
#include "kvstore/communicator.h"

namespace headrace::kvstore {

class SingleMachineStore final : public KVStore {
 public:
  SingleMachineStore(std::string type, std::unique_ptr<Communicator> communicator)
      : type_(std::move(type)), communicator_(std::move(communicator)) {}

  const std::string& type() const noexcept override { return type_; }
  int rank() const noexcept override { return 0; }
  int num_workers() const noexcept override { return 1; }

  void init(std::span<const Item> items) override;
  void push(std::span<const Item> items, int priority) override;
  void pull(std::span<const Item> items, int priority) override;
  void pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) override;
  void row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids,
                       int priority) override;

  void set_updater(Updater updater) override { updater_ = std::move(updater); }
  void set_reduction(std::string_view name) override { set(Reduction(name)); }
  void set_reduction(Combine combine) override;
  void set_gradient_compression(const TwoBitCompression& compression) override;
  void barrier() override {}

 private:
  struct Entry {
    int64_t order;    // among the keys of a call: a number itself, of a text how many were inited before it
    DType dtype;      // of init
    NDArray stored;   // of another dtype after one array of that was pushed alone
    NDArray reduced;  // what an updater is given; kept from push to push
    std::vector<NDArray> residuals;  // of the compression, by place in the list of values
  };
  using Entries = std::map<Key, Entry>;
  // A key of a call, with all arrays that the call gives for it.
  struct Part {
    Entries::value_type* entry;
    std::vector<NDArray> arrays;

    const Key& key() const noexcept { return entry->first; }
  };
  enum class Direction { kPush, kPull };

  static Extent extent_of(std::span<const Part> parts);
  void check_key_type(const char* operation, const Key& key) const;
  Entries::value_type& find(const char* operation, const Key& key);
  std::vector<Part> parts_of(const char* operation, std::span<const Item> items);
  void check_array(const char* operation, const Entries::value_type& entry, const NDArray& array, size_t place) const;
  void check_dtypes(std::span<const Part> parts) const;
  bool keeps() const noexcept { return static_cast<bool>(updater_); }
  void raise_kept() const;
  DType reduced_dtype(const Part& part) const;
  void convert_pushed(std::span<Part> parts) const;
  static void sort_by_keys(std::span<Part> parts);
  // Reduces in the order given; where an updater is set, the first of the keys are the most urgent.
  void push_parts(std::span<Part> parts, int priority);
  // Updates in the order of the keys, and pulls into `pulled`, unless it is empty. Neighbours that make a bucket go
  // together, as soon as their own arrays are reduced.
  void update_parts(std::span<Part> pushed, std::span<Part> pulled, Extent extent, bool keep, int priority);
  void push_each(std::span<Part> parts);
  void push_together(std::span<Part> parts);
  // `keep`: arrays keep their values when that fails.
  void pull_parts(std::span<const Part> parts, Extent extent, bool keep);
  void pull_together(std::span<const Part> parts, Extent extent, bool keep);
  // Without an updater or compression.
  void pushpull_parts(std::span<Part> pushed, std::span<const Part> pulled, Extent extent);
  void pushpull_together(std::span<Part> pushed, std::span<const Part> pulled, Extent extent);
  void move_stored(Entry& entry, Device home) const;
  std::vector<NDArray> compressed(Entry& entry, std::span<const NDArray> values, Device home) const;
  void set(Reduction reduction);

  const std::string type_;
  const std::unique_ptr<Communicator> communicator_;
  Entries entries_;
  Reduction reduction_;
  std::optional<TwoBitCompression> compression_;
  Updater updater_;
};

}  // namespace headrace::kvstore
