// RemoteStore: a worker's store whose arrays lie on servers. Arrays of one push are summed here first; what becomes of
// them, and of those of other workers, servers do. Pushes and pulls are tasks of the engine.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/session.h"
#include "distributed/shards.h"
#include "engine/var.h"
#include "headrace/communicator.hpp"
#include "kvstore/entries.h"
#include "kvstore/sharing.h"

namespace headrace::distributed {

// "worker 0 of 2".
std::string name_of_worker(const Session& session);

// Bytes [begin, end) of a packed array, on their way to a server. The caller holds access to the array, or has waited
// for it.
Load load_for(Session& session, size_t server, const NDArray& packed, size_t begin, size_t end);

class RemoteStore final : public kvstore::KVStore {
 public:
  // `session` outlives the store.
  RemoteStore(std::string type, const kvstore::Sharing& sharing, std::unique_ptr<kvstore::Communicator> devices,
              Session& session);

  const std::string& type() const noexcept override { return type_; }
  int rank() const noexcept override { return session_.rank(); }
  int num_workers() const noexcept override { return session_.workers(); }
  int lost_workers() const noexcept override { return session_.lost_workers(); }
  bool has_joined() const noexcept override { return session_.has_joined(); }
  bool is_capable(kvstore::Capability capability) const noexcept override;

  void init(std::span<const kvstore::Item> items) override;
  void replace(std::span<const kvstore::Item> items) override;
  void push(std::span<const kvstore::Item> items, int priority) override;
  void pull(std::span<const kvstore::Item> items, int priority) override;
  void pushpull(std::span<const kvstore::Item> values, std::span<const kvstore::Item> outs, int priority) override;
  void row_sparse_pull(std::span<const kvstore::Item> items, std::span<const std::vector<NDArray>> row_ids,
                       int priority) override;

  // The servers' updaters count: none here.
  void set_updater(kvstore::Updater updater) override;
  const kvstore::Updater& updater() const noexcept override { return no_updater_; }
  void set_reduction(std::string_view name) override;
  void set_reduction(kvstore::Combine combine) override;
  void set_gradient_compression(const kvstore::TwoBitCompression& compression) override;
  void barrier() override;
  bool others_go_on(const kvstore::Key& key) override;
  // Of a synchronous store: all, for a round waits for every worker, whether it has something to push or not.
  void agree(std::span<uint8_t> flags) override;

  bool has_servers() const noexcept override { return true; }
  void send_command(int head, std::string_view body) override;
  void send_settings(std::string_view body) override;
  void set_worker_state(std::string_view state) override { state_ = state; }
  void keep_whole() override;
  std::vector<std::string> ask_servers(int head, std::span<const std::string> bodies) override;
  size_t servers() const noexcept override { return session_.servers(); }
  std::vector<Shard> shares(const kvstore::Key& key) override;

 private:
  // What belongs to a key beside its entry.
  struct Remote {
    std::vector<Shard> shards;
    bool sparse;
    std::shared_ptr<Var> order = std::make_shared<Var>();   // pulls come after the pushes before them
    std::shared_ptr<Var> packed = std::make_shared<Var>();  // what was pushed last: has the error of what it was
    uint64_t pushes = 0;
  };
  class Sending;
  struct Pulling;
  struct Receiving;

  // --- remote_store.cc: calls and settings ---
  Remote& remote_of(const kvstore::Part& part) { return remotes_.at(part.key()); }
  void set_place(const kvstore::Key& key, Place& place) const;
  void set_place_without_key(Place& place) const;
  // Of this worker for others.
  Standstill::Wait wait_of(std::string what) const;
  std::vector<std::string> send_to_all(std::span<const CommandRequest> commands);
  void send_to_all(const CommandRequest& command);
  void exchange_inits(std::span<const kvstore::Item> items, bool replaces);
  // --- remote_transfers.cc: arrays on their way ---
  NDArray summed(const kvstore::Part& part) const;
  std::vector<kvstore::Part> parts_to_push(std::span<const kvstore::Item> items);
  void push_parts(std::span<const kvstore::Part> parts, int priority);
  void pull_parts(std::span<const kvstore::Part> parts, int priority);
  Request push_request(const kvstore::Part& part, Remote& remote);
  static void send_failure(Session& session, size_t server, Request request, const std::exception_ptr& error);
  void send(Remote& remote, const NDArray& value, const std::shared_ptr<Sending>& sending, int urgency);
  void push_dense(const kvstore::Part& part, NDArray value, int priority);
  void push_rows(const kvstore::Part& part);
  Pulling pulling(bool holds_program) const;
  void receive(std::span<const kvstore::Part> parts, int priority);
  NDArray receive_rows(const kvstore::Part& part, const std::vector<int64_t>* rows);

  const std::string type_;
  const kvstore::Sharing sharing_;
  const std::unique_ptr<kvstore::Communicator> devices_;
  const kvstore::Updater no_updater_;
  Session& session_;
  const uint32_t number_;
  kvstore::Entries entries_;
  std::map<kvstore::Key, Remote> remotes_;
  std::optional<kvstore::TwoBitCompression> compression_;
  uint64_t settings_ = 0;  // how many were sent
  // Read by pushes, written when others are sent: servers hear of pushes with earlier settings first.
  std::shared_ptr<Var> settings_order_ = std::make_shared<Var>();
  std::string state_;  // goes with the next push
  bool keeps_whole_ = false;
};

}  // namespace headrace::distributed
