// A store that passes all calls on to another one; tests override what they want to see or to say.
#pragma once

#include <memory>
#include <string>

#include "headrace/kvstore.hpp"

namespace headrace {

class WrappedStore : public kvstore::KVStore {
 public:
  explicit WrappedStore(std::string_view name) : store_(kvstore::create(name)) {}

  const std::string& type() const noexcept override { return store_->type(); }
  int rank() const noexcept override { return store_->rank(); }
  int num_workers() const noexcept override { return store_->num_workers(); }
  bool is_capable(kvstore::Capability capability) const noexcept override { return store_->is_capable(capability); }
  void init(std::span<const kvstore::Item> items) override { store_->init(items); }
  void replace(std::span<const kvstore::Item> items) override { store_->replace(items); }
  void push(std::span<const kvstore::Item> items, int priority) override { store_->push(items, priority); }
  void pull(std::span<const kvstore::Item> items, int priority) override { store_->pull(items, priority); }
  void pushpull(std::span<const kvstore::Item> values, std::span<const kvstore::Item> outs, int priority) override {
    store_->pushpull(values, outs, priority);
  }
  void row_sparse_pull(std::span<const kvstore::Item> items, std::span<const std::vector<NDArray>> row_ids,
                       int priority) override {
    store_->row_sparse_pull(items, row_ids, priority);
  }
  void set_updater(kvstore::Updater updater) override { store_->set_updater(std::move(updater)); }
  const kvstore::Updater& updater() const noexcept override { return store_->updater(); }
  void set_reduction(std::string_view name) override { store_->set_reduction(name); }
  void set_reduction(kvstore::Combine combine) override { store_->set_reduction(std::move(combine)); }
  void set_gradient_compression(const kvstore::TwoBitCompression& compression) override {
    store_->set_gradient_compression(compression);
  }
  void barrier() override { store_->barrier(); }

 private:
  const std::unique_ptr<kvstore::KVStore> store_;
};

}  // namespace headrace
