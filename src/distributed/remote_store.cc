#include "distributed/remote_store.h"

#include <cstdlib>

#include "base/check.h"
#include "distributed/messages.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"

namespace headrace::distributed {

using kvstore::Capability;
using kvstore::Item;
using kvstore::Part;
using kvstore::to_string;

namespace {

// Elements from which on an array lies on all servers.
int64_t split_bound() {
  const char* const text = std::getenv("MXNET_KVSTORE_BIGARRAY_BOUND");
  const int64_t bound = text ? std::atoll(text) : 0;
  return bound > 0 ? bound : 1'000'000;
}

Shape shard_shape(const NDArray& whole, size_t shards, const Shard& shard) {
  return shards == 1 ? whole.shape() : Shape{shard.end - shard.begin};
}

}  // namespace

NDArray on_host(const NDArray& array) { return contiguous(array.device().is_host() ? array : copied_to(array, {})); }

RemoteStore::RemoteStore(std::string type, bool asynchronous, std::unique_ptr<kvstore::Communicator> devices,
                         Session& session)
    : type_(std::move(type)),
      asynchronous_(asynchronous),
      devices_(std::move(devices)),
      session_(session),
      number_(static_cast<uint32_t>(session_.take_store_number())) {}

bool RemoteStore::is_capable(Capability capability) const noexcept {
  return capability != Capability::kAsynchronous || asynchronous_;
}

void RemoteStore::set_place_without_key(Place& place) const {
  place.set_store(number_);
  place.set_rank(static_cast<uint32_t>(rank()));
  place.set_asynchronous(asynchronous_);
}

void RemoteStore::set_place(const kvstore::Key& key, Place& place) const {
  set_place_without_key(place);
  set_key(key, *place.mutable_key());
}

// --- init, replace ---------------------------------------------------------------------------------------------------

void RemoteStore::exchange_inits(std::span<const Item> items, bool replaces) {
  std::vector<Session::Call<InitRequest, Empty>> calls;
  for (const Item& item : items) {
    const NDArray& array = item.arrays[0];
    const std::vector<Shard>& shards = remotes_.at(item.key).shards;
    Array whole;
    if (rank() == 0) set_array(array.storage_kind() == StorageKind::kDense ? on_host(array.detach()) : array, whole);
    const size_t size = item_size(array.dtype());
    for (const Shard& shard : shards) {
      auto& call = calls.emplace_back();
      call.server = shard.server;
      set_place(item.key, *call.request.mutable_place());
      call.request.set_replaces(replaces);
      Array& part = *call.request.mutable_value();
      if (shards.size() == 1 && rank() == 0) {
        part = whole;
        continue;
      }
      set_type(shard_shape(array, shards.size(), shard), array.dtype(), part);
      part.set_sparse(array.storage_kind() != StorageKind::kDense);
      if (rank() == 0)
        part.set_elements(whole.elements().substr(static_cast<size_t>(shard.begin) * size,
                                                  static_cast<size_t>(shard.end - shard.begin) * size));
    }
  }
  if (!replaces || rank() == 0) session_.exchange(calls);
}

void RemoteStore::init(std::span<const Item> items) {
  session_.raise_failure();
  entries_.check_new(items);
  for (const Item& item : items) {
    const NDArray& array = item.arrays[0];
    const bool sparse = array.storage_kind() != StorageKind::kDense;
    remotes_[item.key] = {
        .shards = shards_of(item.key, array.size(), session_.servers(), split_bound(), !sparse && !keeps_whole_),
        .sparse = sparse};
  }
  exchange_inits(items, false);
  for (const Item& item : items) {
    const NDArray& array = item.arrays[0];
    entries_.add(item.key, remotes_.at(item.key).sparse
                               ? sparse::zeros(StorageKind::kRowSparse, array.shape(), array.dtype())
                               : NDArray::empty(array.shape(), array.dtype()));
  }
}

void RemoteStore::replace(std::span<const Item> items) {
  std::vector<Item> converted;
  for (const Part& part : entries_.single_parts_of("replace", items))
    converted.push_back({part.key(), {cast_to(part.arrays[0], part.entry().dtype)}});
  session_.barrier();  // what others have pushed before comes first
  exchange_inits(converted, true);
  session_.barrier();
}

// --- settings --------------------------------------------------------------------------------------------------------

void RemoteStore::set_updater(kvstore::Updater updater) {
  check(!updater, ErrorKind::kRuntime,
        "kvstore set_updater: a '{}' store updates on its servers, which functions of a worker cannot reach; give an "
        "optimizer to set_optimizer",
        type_);
}

void RemoteStore::set_reduction(std::string_view name) {
  const kvstore::Reduction known(name);
  check(known.name() == "sum", ErrorKind::kValue, "kvstore set_reduction: a '{}' store sums, got '{}'", type_, name);
}

void RemoteStore::set_reduction(kvstore::Combine) {
  fail(ErrorKind::kValue,
       "kvstore set_reduction: a '{}' store sums on its servers; functions of a worker cannot reach "
       "them",
       type_);
}

void RemoteStore::set_gradient_compression(const kvstore::TwoBitCompression& compression) {
  check(compression.threshold > 0, ErrorKind::kValue,
        "kvstore set_gradient_compression: threshold must be greater than 0, got {}", compression.threshold);
  compression_ = compression;
}

void RemoteStore::send_to_all(CommandRequest request) {
  session_.raise_failure();
  set_place_without_key(*request.mutable_place());
  std::vector<Session::Call<CommandRequest, Empty>> calls;
  for (size_t server = 0; server < session_.servers(); ++server) calls.push_back({server, request});
  session_.exchange(calls);
}

void RemoteStore::send_command(int head, std::string_view body) {
  CommandRequest request;
  request.set_head(head);
  request.set_body(std::string(body));
  send_to_all(std::move(request));
}

void RemoteStore::send_settings(std::string_view body) {
  CommandRequest request;
  request.set_body(std::string(body));
  request.set_settings(++settings_);
  send_to_all(std::move(request));
}

void RemoteStore::keep_whole() {
  for (const auto& [key, remote] : remotes_)
    check(remote.shards.size() == 1, ErrorKind::kRuntime,
          "kvstore set_optimizer: the optimizer looks at arrays as a whole, but key {} lies on {} servers already; set "
          "the optimizer before the keys are inited, or MXNET_KVSTORE_BIGARRAY_BOUND above its size",
          to_string(key), remote.shards.size());
  keeps_whole_ = true;
}

}  // namespace headrace::distributed
