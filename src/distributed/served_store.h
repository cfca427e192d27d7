// ServedStore: the part of one store that a server holds: keys, rounds, and who waits for what. Belongs to one thread,
// that of the server.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "distributed/applied_pushes.h"
#include "distributed/backup.h"
#include "distributed/exchange.h"
#include "distributed/limits.h"
#include "distributed/membership.h"
#include "distributed/messages.h"
#include "distributed/rounds.h"
#include "distributed/told_arrays.h"
#include "headrace/distributed.hpp"

namespace headrace::distributed {

// What others may ask of the thread of the server.
using Later = std::function<void(std::function<void()> job)>;

class ServedStore {
 public:
  // Like the place of its first request. `workers`: that the job has when it begins; `is_open`: others may come, and
  // take the places of those who have left. `later` may be called by any thread, also after the store is gone.
  // `holdings`: of all stores of the server, which outlive it. `backup`: which hears of what changes;
  // null: the job has no replicas.
  ServedStore(const Place& place, int workers, bool is_open, ServerProgram& program, Holdings& holdings, Later later,
              std::shared_ptr<Backup> backup);

  bool is_asynchronous() const noexcept { return asynchronous_; }
  uint32_t staleness() const noexcept { return staleness_; }

  // What the requests ask for. An answer may come later, from another call. What is raised is wrong with the request.
  void init(const InitRequest& request, const Elements& elements, const Asker& asker);
  void push(const PushRequest& request, const Elements& elements, const Asker& asker);
  void pull(PullRequest request, const Asker& asker);
  void command(const CommandRequest& request, const Asker& asker);

  // Raises what a worker has done that does not go with what others have; they are told, too, unless workers come and
  // go.
  [[noreturn]] void fail_for_all(const std::string& why);

  // Whether pushes of workers other than 0 have to wait for what worker 0 brings back.
  bool is_restoring() const noexcept { return is_restoring_; }

  // --- served_store_outcomes.cc: replicas ---
  // What became of pushes elsewhere, of which this is a part. It is put in its place by settle().
  void take_outcome(Outcome&& outcome, const Elements& elements);
  // What is stored, and what the program keeps for it, is what was taken.
  void settle();
  // Tells a backup that has come later everything.
  void copy_to_backup();

  // A worker is not there any more: who waits for what it has not done is told.
  void depart(const Departed& worker);
  // Another one is in the place of one that has left.
  void arrive(size_t rank);
  // Answers all who wait.
  void give_up(const std::string& why);

 private:
  struct Pushed {
    NDArray value;
    uint64_t settings;
    std::string state;  // of the worker
    std::string id;     // for the history
    Holdings::Hold held = {};
    std::optional<Asker> asker = {};  // waits until the round is closed
  };
  struct Pull {
    PullRequest request;
    Asker asker;
  };
  // A command of all workers.
  struct Carried {
    std::string body;
    std::set<size_t> ranks;  // that have sent it
  };
  // A worker that has no more data, after so many pushes.
  struct Joined {
    uint64_t pushes;
    Asker asker;
  };
  // What is stored, for all who see the heap.
  struct Published {
    NDArray array = {};  // in the block
    BlockPtr block = {};
  };
  // What became of pushes elsewhere.
  struct Taken {
    ToldArrays arrays;  // the stored one, and those that the program keeps for it
    std::string kept = {};
    uint64_t order = 0;  // in which they came
  };
  struct Entry {
    Entry(const Array& inited, size_t rank, Holdings::Hold memory, size_t workers)
        : held(std::move(memory)),
          first(rank),
          shape(shape_of(inited)),
          dtype(dtype_of(inited)),
          sparse(inited.sparse()),
          rounds(workers),
          applied(workers) {}

    Holdings::Hold held;
    size_t first;  // rank that has inited it first
    Shape shape;
    DType dtype;
    bool sparse;
    bool is_ready = false;  // rank 0 has inited it
    Published published;    // none: not pulled since it changed
    std::vector<Asker> inits;
    std::vector<Pull> pulls;
    std::map<size_t, Joined> joined;  // by rank
    Rounds<Pushed> rounds;
    AppliedPushes applied;          // of an asynchronous store
    std::string error;              // why what is stored is not what it should be
    std::vector<NDArray> arriving;  // of an outcome whose end has not come
    std::optional<Taken> taken;     // and not put in its place
    size_t told = 0;                // arrays that the backup has as they were before the push that is applied; 0: any
  };

  size_t rank_of(const Place& place) const;
  Entry& find(const Place& place);
  Entry& find_or_make(const kvstore::Key& key, const Array& inited, size_t rank);
  NDArray pushed_value(const PushRequest& request, const Elements& elements, const Entry& entry) const;
  void spoil(const kvstore::Key& key, Entry& entry, const std::string& why);
  void carry_out(const CommandRequest& request);
  void take(const kvstore::Key& key, Entry& entry, const PushRequest& request, const Elements& elements,
            const Asker& asker);
  void go_without(const kvstore::Key& key, Entry& entry, const PushRequest& request, const Asker& asker);
  void close_rounds(const kvstore::Key& key, Entry& entry);
  void apply(const kvstore::Key& key, Entry& entry, std::vector<Pushed> pushed);
  void use_settings(uint64_t number);
  void keep_state(size_t rank, const std::string& state);
  class Telling;
  // `rows`: those that were pushed, where all that was pushed is row_sparse.
  using RowNumbers = std::optional<std::vector<int64_t>>;
  void tell_outcome(const kvstore::Key& key, Entry& entry, std::span<const Pushed> pushed, const RowNumbers& rows,
                    bool is_copy = false);
  void tell_command(CommandRequest&& command);
  void tell_arrays(const kvstore::Key& key, Entry& entry, const std::shared_ptr<Telling>& telling,
                   const RowNumbers& rows);
  void tell_rows(const kvstore::Key& key, const Entry& entry, const std::vector<NDArray>& kept, Telling& telling,
                 const std::vector<int64_t>& rows);
  bool may_tell_rows(const kvstore::Key& key, const Entry& entry, const std::vector<NDArray>& kept,
                     const RowNumbers& rows);
  RowNumbers rows_told_of(std::span<const NDArray> values) const;
  // What changes by something else than a push the backup changes by itself, and is then told all.
  void forget_told();
  std::vector<NDArray> own_arrays(const kvstore::Key& key, const Entry& entry);
  void set_place_without_key(Place& place) const;
  void set_place(const kvstore::Key& key, Place& place) const;
  void settle(const kvstore::Key& key, Entry& entry);
  // Pushes whose round will not be closed are answered as those before them.
  void answer_hopeless_pushes(Entry& entry);
  void ask(const CommandRequest& request, const Asker& asker);
  void ask_restored(const Asker& asker);
  static uint64_t pushes_in(const CommandRequest& request);
  std::string awaited(const CommandRequest& request);
  void join(const CommandRequest& request, const Asker& asker);
  void answer_joined(const kvstore::Key& key, Entry& entry);
  static void refuse_joined(Entry& entry, const std::string& why);
  std::string worker_states() const;
  bool is_due(const Entry& entry, const Pull& pull) const;
  bool is_awaited(size_t rank) const;
  void answer_pulls(const kvstore::Key& key, Entry& entry);
  void answer_pull(const kvstore::Key& key, Entry& entry, const Pull& pull);
  // Copies what is stored, if that has not been done since it changed: into the block, or, without one, for once.
  Published publish(const kvstore::Key& key, Entry& entry, const std::function<BlockPtr(size_t bytes)>& block_for);
  void give(const kvstore::Key& key, Entry& entry, const Asker& asker);
  void give_rows(const kvstore::Key& key, const Entry& entry, const Pull& pull);
  // Why a pull will never be answered; empty: it may be.
  std::string hopeless(const Entry& entry, const PullRequest& request) const;
  void answer_hopeless(const kvstore::Key& key, Entry& entry);

  const int number_;
  const size_t workers_;
  const bool is_open_;
  const bool asynchronous_;
  const uint32_t staleness_;  // of an asynchronous store; 0: any
  ServerProgram& program_;
  Holdings& holdings_;
  const Later later_;
  const std::shared_ptr<Backup> backup_;
  const std::unique_ptr<kvstore::KVStore> store_;
  std::map<kvstore::Key, Entry> entries_;
  std::map<uint64_t, std::string> settings_;
  uint64_t used_settings_ = 0;
  std::string last_settings_;               // that were used
  std::map<int, Carried> commands_;         // by head: what was carried out last
  std::string error_;                       // why no key is what it should be
  std::map<size_t, std::string> departed_;  // by rank: how
  std::map<size_t, std::string> states_;    // of workers, by rank, with what is stored
  std::set<size_t> new_states_;             // of whom the backup has not been told
  std::optional<std::string> restored_;     // of workers, as worker 0 has brought them back
  std::vector<Asker> restored_asked_;       // by whom, before that
  bool is_restoring_ = false;
  uint64_t taken_ = 0;  // outcomes
};

}  // namespace headrace::distributed
