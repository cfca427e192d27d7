// Store: the key-value store of the library, over a communicator. It knows keys, dtypes, which arrays go together,
// compression and updaters; what devices and ranks there are, and how arrays move between them, it asks the
// communicator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/communicator.hpp"
#include "kvstore/entries.h"
#include "kvstore/parts.h"

namespace headrace::kvstore {

class Store final : public KVStore {
 public:
  Store(std::string type, std::unique_ptr<Communicator> communicator)
      : type_(std::move(type)), communicator_(std::move(communicator)) {}

  const std::string& type() const noexcept override { return type_; }
  int rank() const noexcept override { return communicator_->rank(); }
  int num_workers() const noexcept override { return communicator_->size(); }
  bool is_capable(Capability capability) const noexcept override;

  void init(std::span<const Item> items) override;
  void replace(std::span<const Item> items) override;
  void push(std::span<const Item> items, int priority) override;
  void pull(std::span<const Item> items, int priority) override;
  void pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) override;
  void row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids,
                       int priority) override;

  void set_updater(Updater updater) override { updater_ = std::move(updater); }
  const Updater& updater() const noexcept override { return updater_; }
  void set_reduction(std::string_view name) override { set(Reduction(name)); }
  void set_reduction(Combine combine) override;
  void set_gradient_compression(const TwoBitCompression& compression) override;
  void barrier() override { communicator_->barrier(); }
  bool others_go_on(const Key&) override { return communicator_->others_go_on(); }
  void agree(std::span<uint8_t> flags) override;
  void agree_in(const std::string& what) override;
  bool shares_updates() const noexcept override { return communicator_->sharing() && !keeps_whole_; }
  std::vector<Share> shares(const Key& key) override;
  NDArray gather_shares(const Key& key, const NDArray& share) override;
  void keep_whole() override { keeps_whole_ = true; }

 private:
  // --- store.cc: calls and settings ---
  NDArray copy_of_root(const NDArray& value, Device stored, DType dtype) const;  // for a topic that is set
  bool keeps() const noexcept { return static_cast<bool>(updater_); }
  std::vector<Share> shares_of(const Entry& entry) const;
  // Whether all ranks can share updates of what they have inited a key with. Collective for large arrays.
  bool may_share(const Key& key, const NDArray& stored);
  // Each rank updates all of it from now on. Raises RuntimeError where it has the state of a share.
  void keep_part_whole(const Part& part) const;
  void agree_on(const std::string& topic, std::span<uint8_t> flags);
  void raise_kept() const;
  DType reduced_dtype(const Part& part) const;
  void check_dtypes(std::span<const Part> parts) const;
  void convert_pushed(std::span<Part> parts) const;
  void set(Reduction reduction);

  // Says what exchanges with other ranks are about: of these keys.
  void set_topic(const char* operation, std::span<const Part> parts) const;
  void set_topic(const char* operation, const Key& key) const;

  // --- store_rows.cc: row_sparse arrays ---
  // What rank 0 has.
  NDArray copy_of_rows(const NDArray& rows) const;
  // What push_each() does with other parts.
  void push_sparse(const Part& part) const;
  void check_rows(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids);

  // --- store_transfers.cc: arrays on their way ---
  Joining joining() const noexcept;
  void move_stored(Entry& entry, Device home) const;
  // What an updater changes: what is stored, or of this rank's share a copy, which share_updated() gives the others.
  NDArray updated_part(const Entry& entry) const;
  void share_updated(const Part& part, const NDArray& updated) const;
  // Reduces in the order given; where an updater is set, the first of the keys are the most urgent.
  void push_parts(std::span<Part> parts, int priority);
  void push_each(std::span<Part> parts);
  void push_together(std::span<Part> parts);
  // Updates in the order of the keys, and pulls into `pulled`, unless it is empty. Neighbours that make a bucket go
  // together, as soon as their own arrays are reduced.
  void update_parts(std::span<Part> pushed, std::span<Part> pulled, Extent extent, bool keep, int priority);
  // `keep`: arrays keep their values when that fails.
  void pull_parts(std::span<const Part> parts, Extent extent, bool keep);
  void pull_part(const Part& part, Extent extent, bool keep);
  void pull_together(std::span<const Part> parts, Extent extent, bool keep);
  // Without an updater or compression.
  void pushpull_parts(std::span<Part> pushed, std::span<const Part> pulled, Extent extent);
  void pushpull_together(std::span<Part> pushed, std::span<const Part> pulled, Extent extent);

  const std::string type_;
  const std::unique_ptr<Communicator> communicator_;
  Entries entries_;
  Reduction reduction_;
  std::optional<TwoBitCompression> compression_;
  Updater updater_;
  bool keeps_whole_ = false;
};

}  // namespace headrace::kvstore
