#include "distributed/remote_store.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/whole_number.h"
#include "distributed/commands.h"
#include "distributed/long_waits.h"
#include "distributed/messages.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "kvstore/compression.h"
#include "ndarray/view.h"
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
  if (!text || !*text) return 1'000'000;
  const auto bound = whole_number<int64_t>(text);
  check(bound && *bound >= 0, ErrorKind::kValue,
        "kvstore init: MXNET_KVSTORE_BIGARRAY_BOUND is a number of elements from 0 on, got '{}'", text);
  return *bound;
}

Shape shard_shape(const NDArray& whole, size_t shards, const Shard& shard) {
  return shards == 1 ? whole.shape() : Shape{shard.end - shard.begin};
}

}  // namespace

std::string name_of_worker(const Session& session) {
  return fmt::format("worker {} of {}", session.rank(), session.workers());
}

Load load_for(Session& session, size_t server, const NDArray& packed, size_t begin, size_t end) {
  const size_t bytes = end - begin;
  BlockPtr block = session.block_for(server, bytes);
  if (!block) return {.elements = elements_of(packed, begin, end)};
  std::memcpy(block->data(), packed.view()->data() + begin, bytes);
  return {.block = std::move(block), .bytes = bytes};
}

RemoteStore::RemoteStore(std::string type, const kvstore::Sharing& sharing,
                         std::unique_ptr<kvstore::Communicator> devices, Session& session)
    : type_(std::move(type)),
      sharing_(sharing),
      devices_(std::move(devices)),
      session_(session),
      number_(static_cast<uint32_t>(session_.take_store_number())) {
  check(sharing.asynchronous || !session_.is_open(), ErrorKind::kValue,
        "kvstore create: a '{}' store has rounds of all workers, but those of this job come and go, because its first "
        "store is asynchronous; make all of its stores alike, or start it without --elastic",
        type_);
}

bool RemoteStore::is_capable(Capability capability) const noexcept {
  return capability != Capability::kAsynchronous || sharing_.asynchronous;
}

void RemoteStore::set_place_without_key(Place& place) const {
  place.set_store(number_);
  place.set_rank(static_cast<uint32_t>(rank()));
  place.set_asynchronous(sharing_.asynchronous);
  if (sharing_.staleness > 0) place.set_staleness(static_cast<uint32_t>(sharing_.staleness));
}

// Requests come in their order, so that those before one that is answered have come.
Standstill::Wait RemoteStore::wait_of(std::string what) const {
  Place place;
  set_place_without_key(place);
  const auto arrive = [&session = session_, place = std::move(place)] {
    Request request;
    *request.mutable_command()->mutable_place() = place;
    request.mutable_command()->set_head(kGetSettings);
    request.mutable_command()->set_repeats(true);
    return session.exchange_with_all("command", request);
  };
  return {.what = std::move(what), .arrive = arrive};
}

void RemoteStore::set_place(const kvstore::Key& key, Place& place) const {
  set_place_without_key(place);
  set_key(key, *place.mutable_key());
}

// --- init, replace ---------------------------------------------------------------------------------------------------

void RemoteStore::exchange_inits(std::span<const Item> items, bool replaces) {
  std::vector<Session::Call> calls;
  for (const Item& item : items) {
    const NDArray& array = item.arrays[0];
    const std::vector<Shard>& shards = remotes_.at(item.key).shards;
    NDArray values;  // of rank 0
    if (rank() == 0) {
      values = packed(array);
      values.wait_to_read();
    }
    const size_t size = item_size(array.dtype());
    for (const Shard& shard : shards) {
      Session::Call& call = calls.emplace_back(Session::Call{.server = shard.owner});
      InitRequest& request = *call.request.mutable_init();
      set_place(item.key, *request.mutable_place());
      request.set_replaces(replaces);
      if (rank() != 0 || shards.size() > 1) {
        set_type(shard_shape(array, shards.size(), shard), array.dtype(), *request.mutable_value());
        request.mutable_value()->set_sparse(array.storage_kind() != StorageKind::kDense);
      } else {
        set_array(array, *request.mutable_value());
      }
      if (rank() != 0) continue;
      const size_t begin = shards.size() > 1 ? static_cast<size_t>(shard.begin) * size : 0;
      const auto elements = shards.size() > 1 ? shard.end - shard.begin : values.size();
      call.load = load_for(session_, shard.owner, values, begin, begin + static_cast<size_t>(elements) * size);
    }
  }
  if (items.empty() || (replaces && rank() != 0)) return;
  const LongWait told([&] {
    return fmt::format("kvstore init: {} waits until all workers have inited key {}, and others of this call",
                       name_of_worker(session_), to_string(items[0].key));
  });
  Standstill::Wait wait = wait_of(fmt::format("waits for key {} to be inited", to_string(items[0].key)));
  wait.awaited = [ranks = std::vector<uint32_t>(rank() == 0 ? 0 : 1, 0)] { return ranks; };  // rank 0 waits for nobody
  const Standstill::Scope waits(session_.standstill(), std::move(wait));
  session_.exchange(replaces ? "replace" : "init", calls);
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
  if (converted.empty()) return;
  barrier();  // what others have pushed before comes first
  exchange_inits(converted, true);
  barrier();
}

void RemoteStore::barrier() {
  const LongWait told([&] {
    return fmt::format(
        "kvstore barrier: {} waits until all workers have come; one may wait for a push of this one, or be in another "
        "part of the program",
        name_of_worker(session_));
  });
  const Standstill::Scope waits(session_.standstill(), wait_of("waits at a barrier"));
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
  kvstore::check_compression(compression);
  compression_ = compression;
}

// One command for each server; gives what they answer, nothing when the process is ending.
std::vector<std::string> RemoteStore::send_to_all(std::span<const CommandRequest> commands) {
  session_.raise_failure();
  std::vector<Session::Call> calls;
  for (size_t server = 0; server < session_.servers(); ++server) {
    CommandRequest& request = *calls.emplace_back(Session::Call{.server = server}).request.mutable_command();
    request = commands[server];
    set_place_without_key(*request.mutable_place());
  }
  std::vector<std::string> answers;
  if (session_.exchange("command", calls))
    for (Session::Call& call : calls) answers.push_back(std::move(*call.reply.mutable_answer()));
  return answers;
}

void RemoteStore::send_to_all(const CommandRequest& command) {
  send_to_all(std::vector<CommandRequest>(session_.servers(), command));
}

std::vector<std::string> RemoteStore::ask_servers(int head, std::span<const std::string> bodies) {
  check(bodies.size() == session_.servers(), ErrorKind::kValue,
        "kvstore ask_servers: expected a body for each of {} servers, got {}", session_.servers(), bodies.size());
  std::vector<CommandRequest> commands(bodies.size());
  for (size_t server = 0; server < bodies.size(); ++server) {
    commands[server].set_head(head);
    commands[server].set_body(bodies[server]);
    commands[server].set_repeats(true);
  }
  return send_to_all(commands);
}

std::vector<Shard> RemoteStore::shares(const kvstore::Key& key) {
  const auto found = remotes_.find(key);
  check(found != remotes_.end(), ErrorKind::kRuntime, "kvstore: key {} has not been inited", to_string(key));
  return found->second.shards;
}

// One server knows who has pushed the key, and decides for all.
bool RemoteStore::others_go_on(const kvstore::Key& key) {
  session_.raise_failure();
  const auto found = remotes_.find(key);
  check(found != remotes_.end(), ErrorKind::kRuntime, "kvstore join: key {} has not been inited", to_string(key));
  if (sharing_.asynchronous) return false;
  std::vector<Session::Call> calls(1);
  calls[0].server = found->second.shards[0].owner;
  CommandRequest& request = *calls[0].request.mutable_command();
  set_place(key, *request.mutable_place());
  request.set_head(kJoin);
  request.set_body(std::to_string(found->second.pushes));
  request.set_repeats(true);
  const LongWait told([&] {
    return fmt::format("kvstore join: {} has no more data, and waits until the others have none, or push key {} again",
                       name_of_worker(session_), to_string(key));
  });
  return session_.exchange("join", calls) && calls[0].reply.answer() == "1";
}

void RemoteStore::agree(std::span<uint8_t> flags) {
  if (!sharing_.asynchronous && num_workers() > 1) std::ranges::fill(flags, uint8_t{1});
}

void RemoteStore::send_command(int head, std::string_view body) {
  CommandRequest request;
  request.set_head(head);
  request.set_body(std::string(body));
  send_to_all(request);
}

void RemoteStore::send_settings(std::string_view body) {
  CommandRequest request;
  request.set_body(std::string(body));
  request.set_settings(++settings_);
  send_to_all(request);
  if (sharing_.asynchronous) return;  // they count at once
  Var* const written = settings_order_.get();
  runtime().engine.push(TaskSpec{.name = "kvstore settings", .writes = {&written, 1}, .priority = Priority::kHigh},
                        [order = settings_order_] {});
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
