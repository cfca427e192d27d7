// The key-value store: arrays by key, shared by devices. What devices push for a key is reduced to one array, the sum
// unless another reduction is set; the array takes the place of the stored one, or an updater changes the stored one by
// it; devices pull what is stored.
//
//   auto store = kvstore::create("device");
//   store->init("weight", weight);
//   store->pushpull("weight", gradients, gradients);  // each of them becomes the sum of all
//
// A store belongs to one thread at a time. Its calls return at once, except where they say that they wait: copies and
// sums run when the arrays allow it, before other work that could run. What is wrong with a call is raised before
// anything of it is done; what goes wrong later is raised where a result is read.
//
// Several processes may share a store; their number in it is its rank. Calls that change what is stored are collective
// then: every rank makes the same ones, for the same keys, in the same order. A kind of store of one's own is a
// subclass of KVStore, or make_store() over a communicator of one's own (headrace/communicator.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::kvstore {

// All keys of one store are numbers, or all are texts.
using Key = std::variant<int64_t, std::string>;
std::string to_string(const Key& key);  // 3, 'weight'

// A key of a call with its arrays, one for each device.
struct Item {
  Key key = {};
  std::vector<NDArray> arrays = {};
};

// A key that was pushed: what came, reduced, and what is stored, on one device and of one dtype. Valid during the call.
struct Update {
  const Key& key;
  const NDArray& reduced;
  const NDArray& stored;
};
// Changes the stored arrays in place. Gets the keys of one push, in one call or several: numbers in their order, texts
// in the order in which they were inited.
using Updater = std::function<void(std::span<const Update>)>;

// Makes one array of two of equal shape and dtype, element by element. It is given parts of arrays, in any order.
using Combine = std::function<NDArray(const NDArray& a, const NDArray& b)>;

struct TwoBitCompression {
  double threshold = 0.5;
};

// What a program may ask of a store. Programs ask for these; the names of kinds say nothing.
enum class Capability : uint8_t {
  kOptimizer,     // 'optimizer': it updates what it holds
  kCompression,   // 'compression': it can send pushed gradients at two bits an element
  kAsynchronous,  // 'asynchronous': a push is applied without waiting for those of other ranks, so the store must
                  // update
  kDistributed,   // 'distributed': several processes share it
};
// By its name in any case. Raises ValueError that lists the names.
Capability capability_of(std::string_view name);

// Elements [begin, end) of an array, in row-major order, and who updates them: the server or rank of that number.
struct Share {
  size_t owner;
  int64_t begin, end;
};

class KVStore {
 public:
  virtual ~KVStore() = default;
  KVStore() = default;
  KVStore(const KVStore&) = delete;
  KVStore& operator=(const KVStore&) = delete;

  virtual const std::string& type() const noexcept = 0;  // the name it was created by
  virtual int rank() const noexcept = 0;                 // number of this process among those that share the store
  virtual int num_workers() const noexcept = 0;          // how many there are
  virtual bool is_capable(Capability capability) const noexcept = 0;

  // Everywhere: MXNetError for a key that is not there, or is there already, and for texts among numbers; ValueError
  // for an item without arrays, or a shape other than the stored one. A call without items does nothing; one that names
  // a key twice has the arrays of both places for it. `priority`: what is ready of calls with a higher one goes first
  // over links and through devices. Calls that wait for the same arrays keep their order. Where an updater is set, key
  // number i of a call has its priority less i.

  // Stores a copy of the one array of each item: that of rank 0, on every rank. This and replace() wait where servers
  // hold it.
  virtual void init(std::span<const Item> items) = 0;
  // Puts a copy of the one array of each item, as init() does, in the place of what is stored under its key, in the
  // dtype of init(). Nothing is updated, and what an updater and compression remember stays.
  virtual void replace(std::span<const Item> items) = 0;
  // Reduces the arrays of each item in their order, those of lower ranks first, then updates or replaces what is
  // stored. They are reduced in the dtype that the key was inited with, or, where an updater is set, in that of what it
  // changes. A single array of all ranks without an updater replaces what is stored as it is.
  virtual void push(std::span<const Item> items, int priority) = 0;
  // Writes what is stored into the arrays, in their dtypes.
  virtual void pull(std::span<const Item> items, int priority) = 0;
  // push, then pull into `outs`, without the way by the stored array where a plan reduces between devices directly.
  // The keys of `outs` are those of `values`.
  virtual void pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) = 0;
  // Writes the stored rows whose numbers `row_ids` holds (one dimension, any order, repeats allowed) into the same rows
  // of the arrays, and zeros into the others. One array of row_ids for all of an item, or one for each of its arrays.
  // IndexError, where the result is read: there is no such row.
  virtual void row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids,
                               int priority) = 0;

  // None: what is pushed takes the place of what is stored. Another one raises RuntimeError in a store with servers,
  // which update what they hold (headrace/distributed.hpp).
  virtual void set_updater(Updater updater) = 0;
  virtual const Updater& updater() const noexcept = 0;
  // "sum", "mean" (of the arrays of all ranks), "max" or "min". Raises ValueError for another name, and for
  // all but "sum" in a store with servers; so does a function there.
  virtual void set_reduction(std::string_view name) = 0;
  // A function that is commutative and associative.
  virtual void set_reduction(Combine combine) = 0;
  // Pushed float32 gradients travel at two bits an element; what that leaves out is added to the next gradient. Raises
  // ValueError for a threshold that is not positive as a float32, a reduction other than sum and mean, and a store that
  // does not compress.
  virtual void set_gradient_compression(const TwoBitCompression& compression) = 0;
  // Waits until all processes have come here. Raises RuntimeError, naming it, when one has ended.
  virtual void barrier() = 0;

  // For ranks with less data than others: `while (store.others_go_on(key)) take_part();`, where take_part() makes the
  // calls that others make in a step, with zeros; `key` is one that every step pushes. Waits until another rank has
  // begun a step that this one has not: true. False: all ranks have come here, after the same steps; at once in an
  // asynchronous store.
  virtual bool others_go_on(const Key& /*key*/) { return false; }

  // Each flag becomes the greatest of those of all ranks: which keys somebody pushes, for example. Collective; waits.
  // Synchronous stores with servers set all, as their rounds need every worker's push; asynchronous ones set nothing.
  virtual void agree(std::span<uint8_t> /*flags*/) {}
  // States what all ranks do alike at this point, such as an update with some factor, and waits for nobody. Where they
  // do not, calls that are not over and later ones raise, on all ranks, what each has stated. Of stores without
  // servers, where each rank updates; others do nothing.
  virtual void agree_in(const std::string& /*what*/) {}

  // Whether each rank updates a share of every large array, and gets those of others: its updater is given that share
  // of what was reduced and of what is stored, in one dimension.
  virtual bool shares_updates() const noexcept { return false; }
  // Who updates which elements of the array of a key, in their order; none: every rank all of them. Raises MXNetError
  // for an unknown key.
  virtual std::vector<Share> shares(const Key& /*key*/) { return {}; }
  // An array like that of the key, from what each rank has for its share of it: of states, for example. Collective; for
  // keys that ranks share.
  virtual NDArray gather_shares(const Key& /*key*/, const NDArray& share) { return share; }
  // Arrays are not divided, for updaters that look at them as a whole. On servers, those that are inited from now on:
  // raises RuntimeError when one is divided already.
  virtual void keep_whole() {}

  // Of stores whose arrays lie on servers; those of others do nothing. All wait for the servers.
  virtual bool has_servers() const noexcept { return false; }
  // Has every server carry out a command (headrace/distributed.hpp), once, however many ranks send the same.
  virtual void send_command(int /*head*/, std::string_view /*body*/) {}
  // The settings of the servers' optimizer for what is pushed from now on: of rank 0, or of any in an asynchronous
  // store.
  virtual void send_settings(std::string_view /*body*/) {}
  // What this worker would go on with after the next push, in JSON: servers keep it with what that push changes.
  virtual void set_worker_state(std::string_view /*state*/) {}
  // Has every server carry out a command with a body of its own, each time; gives what they answer. For one rank.
  virtual std::vector<std::string> ask_servers(int /*head*/, std::span<const std::string> /*bodies*/) { return {}; }
  // How many servers there are.
  virtual size_t servers() const noexcept { return 0; }
  // How many processes were lost; they have not ended by themselves.
  virtual int lost_workers() const noexcept { return 0; }
  // Whether this worker came to a job that was running: what is stored is there already.
  virtual bool has_joined() const noexcept { return false; }

  // init, then pull.
  void broadcast(std::span<const Item> values, std::span<const Item> outs, int priority) {
    init(values);
    pull(outs, priority);
  }

  // The same for one key.
  void init(const Key& key, const NDArray& value) { init(one({key, {value}})); }
  void replace(const Key& key, const NDArray& value) { replace(one({key, {value}})); }
  void push(const Key& key, std::vector<NDArray> values, int priority = 0) {
    push(one({key, std::move(values)}), priority);
  }
  void pull(const Key& key, std::vector<NDArray> outs, int priority = 0) {
    pull(one({key, std::move(outs)}), priority);
  }
  void pushpull(const Key& key, std::vector<NDArray> values, std::vector<NDArray> outs, int priority = 0) {
    pushpull(one({key, std::move(values)}), one({key, std::move(outs)}), priority);
  }
  void broadcast(const Key& key, const NDArray& value, std::vector<NDArray> outs, int priority = 0) {
    broadcast(one({key, {value}}), one({key, std::move(outs)}), priority);
  }

 private:
  static std::span<const Item> one(const Item& item) { return {&item, 1}; }
};

struct Options {
  // How device stores reduce: a strategy of docs/planner.md, which is then used between CPU devices too. Empty: the
  // planner takes the fastest, and arrays in host memory are reduced there in one pass.
  std::string strategy = {};
  // What connects the devices: a preset or a file. Empty: what HEADRACE_TOPOLOGY says, else one switch.
  std::string topology = {};
  // Of an asynchronous store of several processes: how many pushes of a key a worker may be ahead of the others; it
  // waits for them when it pulls. 0: a synchronous store. Below 0: any number.
  int staleness = -1;
};

// A new store of a kind, in any case: "local", "device" or another name of kinds(). Raises ValueError for an unknown
// name, options that the kind does not have, or malformed ones; OSError for a topology file that cannot be read.
std::unique_ptr<KVStore> create(std::string_view name = "local", const Options& options = {});

struct Kind {
  std::string name = {};
  std::string meaning = {};
  std::function<std::unique_ptr<KVStore>(const std::string& name, const Options& options)> make = {};
  std::vector<Capability> capabilities = {};  // that its stores can have
};

// Makes a kind known to create(). Raises ValueError when the name, which is lower-case, is taken. Any thread.
void register_kind(Kind kind);
std::vector<Kind> kinds();
// Of a kind, for what has to be known before there is a store. Raises as create() for an unknown name.
bool is_capable(std::string_view name, Capability capability);
// Whether create() makes a store of this kind over the ranks of headrace/distributed.hpp, in this process. Likewise.
bool sums_without_servers(std::string_view name);

}  // namespace headrace::kvstore
