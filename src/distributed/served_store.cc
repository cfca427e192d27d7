#include "distributed/served_store.h"

#include <algorithm>

#include "base/check.h"
#include "base/whole_number.h"
#include "distributed/commands.h"
#include "distributed/history.h"
#include "engine/runtime.h"
#include "headrace/arithmetic.hpp"
#include "headrace/sparse.hpp"
#include "kvstore/buckets.h"
#include "ndarray/view.h"
#include "op/invoke.h"

namespace headrace::distributed {

using kvstore::to_string;

namespace {

// Sums of half floats are taken in float32, as those of one machine are.
bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// A task that answers a pull when what is stored is there. Where that failed the task does not run, and its end tells.
class Giving {
 public:
  Giving(NDArray array, BlockPtr block, const Asker& asker, Later later)
      : array_(std::move(array)), block_(std::move(block)), asker_(asker), later_(std::move(later)) {}
  Giving(const Giving&) = delete;
  Giving& operator=(const Giving&) = delete;

  void run() {
    is_done_ = true;
    Array message;
    set_array(array_, message);
    if (block_) return asker_.answer(std::move(message), {.block = block_, .bytes = kvstore::bytes_of(array_)});
    asker_.answer(std::move(message), {.elements = elements_of(array_)});
  }
  ~Giving() {
    if (is_done_) return;
    later_([array = array_, asker = asker_] {
      try {
        array.wait_to_read();
        asker.answer({grpc::StatusCode::INTERNAL, "the array could not be read"});
      } catch (const std::exception& error) {
        asker.answer({grpc::StatusCode::INTERNAL, error.what()});
      }
    });
  }

 private:
  const NDArray array_;
  const BlockPtr block_;
  const Asker asker_;
  const Later later_;
  bool is_done_ = false;
};

size_t held_bytes(const NDArray& array) {
  return kvstore::bytes_of(array.storage_kind() == StorageKind::kDense ? array : sparse::values_of(array));
}

std::string text_of_init(size_t rank, bool sparse, DType dtype, const Shape& shape) {
  return fmt::format("worker {}: {}{} {}", rank, sparse ? "row_sparse " : "", dtype_name(dtype), to_string(shape));
}

NDArray over(const BlockPtr& block, const Shape& shape, DType dtype) {
  auto* const owner = new BlockPtr(block);
  const auto free = [](void* held) { delete static_cast<BlockPtr*>(held); };
  const size_t bytes = static_cast<size_t>(element_count(shape)) * item_size(dtype);
  return NDArray(ViewPtr(new View(StoragePtr(new Storage(Device{}, bytes, block->data(), owner, free)), dtype, shape)));
}

std::vector<NDArray> widened_sum(const std::vector<NDArray>& values, DType dtype) {
  NDArray sum = cast_to(values[0], DType::kFloat32);
  for (size_t i = 1; i < values.size(); ++i) sum = sum + cast_to(values[i], DType::kFloat32);
  return {cast_to(sum, dtype)};
}

}  // namespace

ServedStore::ServedStore(const Place& place, int workers, bool is_open, ServerProgram& program, Holdings& holdings,
                         Later later, std::shared_ptr<Backup> backup)
    : number_(static_cast<int>(place.store())),
      workers_(static_cast<size_t>(workers)),
      is_open_(is_open),
      asynchronous_(place.asynchronous()),
      staleness_(place.staleness()),
      program_(program),
      holdings_(holdings),
      later_(std::move(later)),
      backup_(std::move(backup)),
      store_(kvstore::create("local")) {}

size_t ServedStore::rank_of(const Place& place) const {
  check(is_open_ || place.rank() < workers_, ErrorKind::kValue,
        "distributed: a request of rank {} came, the job has {} workers", place.rank(), workers_);
  return place.rank();
}

ServedStore::Entry& ServedStore::find(const Place& place) {
  const auto found = entries_.find(key_of(place.key()));
  check(found != entries_.end(), ErrorKind::kValue, "kvstore: key {} has not been inited",
        to_string(key_of(place.key())));
  return found->second;
}

// --- init ------------------------------------------------------------------------------------------------------------

ServedStore::Entry& ServedStore::find_or_make(const kvstore::Key& key, const Array& inited, size_t rank) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  const size_t bytes = inited.sparse()
                           ? inited.bytes()
                           : static_cast<size_t>(element_count(shape_of(inited))) * item_size(dtype_of(inited));
  Entry& entry = entries_.try_emplace(key, inited, rank, holdings_.hold_new(key, bytes), workers_).first->second;
  entry.error = error_;
  for (const auto& [rank, how] : departed_) entry.applied.leave(rank);
  return entry;
}

void ServedStore::init(const InitRequest& request, const Elements& elements, const Asker& asker) {
  const kvstore::Key key = key_of(request.place().key());
  const size_t rank = rank_of(request.place());
  if (request.replaces()) {
    Entry& entry = find(request.place());
    store_->replace(key, array_of(request.value(), elements));
    entry.published = {};
    entry.told = 0;
    return asker.answer(grpc::Status::OK);
  }
  Entry& entry = find_or_make(key, request.value(), rank);
  const Array& value = request.value();
  if (shape_of(value) != entry.shape || dtype_of(value) != entry.dtype || value.sparse() != entry.sparse)
    spoil(
        key, entry,
        fmt::format("kvstore init: key {}: all ranks init a key alike, with one shape, dtype and storage type; {}, {}",
                    to_string(key), text_of_init(entry.first, entry.sparse, entry.dtype, entry.shape),
                    text_of_init(rank, value.sparse(), dtype_of(value), shape_of(value))));
  check(entry.error.empty(), ErrorKind::kValue, "{}", entry.error);
  if (rank == 0 && !entry.is_ready) {
    store_->init(key, array_of(request.value(), elements));
    entry.is_ready = true;
    for (const Asker& waiting : entry.inits) waiting.answer(grpc::Status::OK);
    entry.inits.clear();
    answer_pulls(key, entry);
  }
  if (entry.is_ready) return asker.answer(grpc::Status::OK);
  entry.inits.push_back(asker);
  answer_hopeless(key, entry);
}

// --- push ------------------------------------------------------------------------------------------------------------

NDArray ServedStore::pushed_value(const PushRequest& request, const Elements& elements, const Entry& entry) const {
  check(shape_of(request.value()) == entry.shape, ErrorKind::kValue,
        "kvstore push: key {}: rank {} pushes an array of shape {}, the key has {}",
        to_string(key_of(request.place().key())), request.place().rank(), to_string(shape_of(request.value())),
        to_string(entry.shape));
  if (request.threshold() <= 0) return array_of(request.value(), elements);
  Array bits;
  set_type({static_cast<int64_t>(elements.size())}, DType::kUint8, bits);
  const NDArray packed = array_of(bits, elements);
  return call("_two_bit_dequantize", {packed},
              {{"threshold", static_cast<double>(request.threshold())}, {"shape", entry.shape}});
}

void ServedStore::push(const PushRequest& request, const Elements& elements, const Asker& asker) {
  rank_of(request.place());
  Entry& entry = find(request.place());
  const kvstore::Key key = key_of(request.place().key());
  if (!request.failure().empty()) return go_without(key, entry, request, asker);
  try {
    take(key, entry, request, elements, asker);
  } catch (const std::exception& error) {  // what waits for it will not come
    spoil(key, entry, error.what());
    throw;
  }
}

// What is stored will never be what it should be: tells all who wait for it, and all who ask.
void ServedStore::spoil(const kvstore::Key& key, Entry& entry, const std::string& why) {
  if (entry.error.empty()) entry.error = why;
  for (const Asker& waiting : entry.inits) waiting.answer({grpc::StatusCode::INVALID_ARGUMENT, entry.error});
  entry.inits.clear();
  refuse_joined(entry, entry.error);
  tell_outcome(key, entry, {}, {});
  answer_hopeless_pushes(entry);
  answer_pulls(key, entry);
}

void ServedStore::fail_for_all(const std::string& why) {
  if (!is_open_) {
    error_ = why;
    for (auto& [key, entry] : entries_) spoil(key, entry, error_);
  }
  fail(ErrorKind::kRuntime, "{}", why);
}

// A push is answered when it is kept: in its round, or, where the job has replicas, when that is closed.
void ServedStore::take(const kvstore::Key& key, Entry& entry, const PushRequest& request, const Elements& elements,
                       const Asker& asker) {
  const size_t rank = request.place().rank();
  check(!asynchronous_ || store_->updater(), ErrorKind::kRuntime,
        "kvstore push: an asynchronous store has no rounds, so its servers must update: call set_optimizer before the "
        "first push");
  Pushed pushed{pushed_value(request, elements, entry), request.settings(), request.state(),
                history::id_of(request, asker.incarnation())};
  if (asynchronous_) {
    if (request.round() < entry.applied.count(rank, asker.incarnation()))
      return asker.answer(grpc::Status::OK);  // by another process
    keep_state(rank, pushed.state);
    std::vector<Pushed> alone;
    alone.push_back(std::move(pushed));
    entry.applied.add(rank, asker.incarnation());
    apply(key, entry, std::move(alone));
    asker.answer(grpc::Status::OK);
    answer_pulls(key, entry);
    return;
  }
  pushed.held = holdings_.hold(key, held_bytes(pushed.value));
  if (backup_) pushed.asker = asker;
  const bool is_new = entry.rounds.add(rank, request.round(), std::move(pushed));
  if (!backup_ || !is_new) asker.answer(grpc::Status::OK);
  if (is_new) close_rounds(key, entry);
  if (backup_) answer_hopeless_pushes(entry);
  answer_joined(key, entry);
}

// A push whose value its worker could not compute. Its round is never complete; where there are no rounds it changes
// nothing.
void ServedStore::go_without(const kvstore::Key& key, Entry& entry, const PushRequest& request, const Asker& asker) {
  const size_t rank = request.place().rank();
  if (!asynchronous_) {
    spoil(key, entry,
          fmt::format("kvstore push: key {}: worker {} could not compute what it pushed: {}", to_string(key), rank,
                      request.failure()));
  } else if (request.round() >= entry.applied.count(rank, asker.incarnation())) {
    entry.applied.add(rank, asker.incarnation());
    tell_outcome(key, entry, {}, {});
    answer_pulls(key, entry);
  }
  asker.answer(grpc::Status::OK);
}

void ServedStore::close_rounds(const kvstore::Key& key, Entry& entry) {
  if (!entry.is_ready) return;
  while (std::optional<std::vector<Pushed>> all = entry.rounds.close_next()) {
    for (size_t rank = 0; rank < workers_; ++rank) keep_state(rank, (*all)[rank].state);
    apply(key, entry, std::move(*all));
  }
  answer_pulls(key, entry);
}

// In the order of the ranks. What goes wrong is told to all who pull.
void ServedStore::apply(const kvstore::Key& key, Entry& entry, std::vector<Pushed> pushed) {
  entry.published = {};
  RowNumbers rows;
  try {
    use_settings(pushed[0].settings);
    std::vector<NDArray> values;
    for (Pushed& one : pushed) values.push_back(std::move(one.value));
    rows = rows_told_of(values);
    const bool is_dense = values[0].storage_kind() == StorageKind::kDense;
    if (is_dense && values.size() > 1 && is_half(values[0].dtype())) values = widened_sum(values, values[0].dtype());
    store_->push(key, std::move(values));
    for (const Pushed& one : pushed) {
      history::write("applied", one.id);
      history::pass("applied");
    }
  } catch (const std::exception& error) {
    entry.error = error.what();
  }
  tell_outcome(key, entry, pushed, rows);
  for (const Pushed& one : pushed)
    if (one.asker) one.asker->answer(grpc::Status::OK);
}

// Empty: as before.
void ServedStore::keep_state(size_t rank, const std::string& state) {
  if (state.empty()) return;
  states_[rank] = state;
  if (backup_) new_states_.insert(rank);
}

void ServedStore::use_settings(uint64_t number) {
  if (asynchronous_ || number <= used_settings_) return;
  used_settings_ = number;
  last_settings_ = settings_.at(number);
  program_.command(number_, *store_, kSettings, last_settings_);
  settings_.erase(settings_.begin(), settings_.upper_bound(number));
}

// --- pull ------------------------------------------------------------------------------------------------------------

bool ServedStore::is_due(const Entry& entry, const Pull& pull) const {
  if (!entry.error.empty()) return true;
  const uint64_t pushes = pull.request.pushes(), incarnation = pull.asker.incarnation();
  const size_t rank = pull.request.place().rank();
  // Others, of those that are there, have to push before who asks may go on.
  if (staleness_ > 0 && entry.applied.is_ahead(rank, incarnation, pushes, staleness_)) return false;
  const uint64_t known = asynchronous_ ? entry.applied.count(rank, incarnation) : entry.rounds.closed();
  return entry.is_ready && known >= pushes;
}

void ServedStore::pull(PullRequest request, const Asker& asker) {
  rank_of(request.place());
  Entry& entry = find(request.place());
  const kvstore::Key key = key_of(request.place().key());
  Pull pull{std::move(request), asker};
  if (is_due(entry, pull)) return answer_pull(key, entry, pull);
  entry.pulls.push_back(std::move(pull));
  answer_hopeless(key, entry);
}

void ServedStore::answer_pulls(const kvstore::Key& key, Entry& entry) {
  std::vector<Pull> waiting = std::move(entry.pulls);
  entry.pulls.clear();
  for (Pull& pull : waiting) {
    if (is_due(entry, pull))
      answer_pull(key, entry, pull);
    else
      entry.pulls.push_back(std::move(pull));
  }
}

void ServedStore::answer_pull(const kvstore::Key& key, Entry& entry, const Pull& pull) {
  if (!entry.error.empty()) return pull.asker.answer({grpc::StatusCode::INTERNAL, entry.error});
  try {
    if (entry.sparse || pull.request.only_rows())
      give_rows(key, entry, pull);
    else
      give(key, entry, pull.asker);
  } catch (const std::exception& error) {
    pull.asker.answer({grpc::StatusCode::INTERNAL, error.what()});
  }
}

ServedStore::Published ServedStore::publish(const kvstore::Key& key, Entry& entry,
                                            const std::function<BlockPtr(size_t bytes)>& block_for) {
  if (entry.published.block) return entry.published;
  Published published;
  published.block = block_for(static_cast<size_t>(element_count(entry.shape)) * item_size(entry.dtype));
  published.array =
      published.block ? over(published.block, entry.shape, entry.dtype) : NDArray::empty(entry.shape, entry.dtype);
  store_->pull(key, {published.array});
  if (published.block) entry.published = published;
  return published;
}

// When it is there: nothing waits for it here.
void ServedStore::give(const kvstore::Key& key, Entry& entry, const Asker& asker) {
  Published published = publish(key, entry, [&](size_t bytes) { return asker.block_for(bytes); });
  Var* const read = &published.array.view()->storage()->var();
  const auto giving = std::make_shared<Giving>(published.array, published.block, asker, later_);
  runtime().engine.push(TaskSpec{.name = "kvstore give", .reads = {&read, 1}, .priority = Priority::kHigh},
                        [giving] { giving->run(); });
}

void ServedStore::give_rows(const kvstore::Key& key, const Entry& entry, const Pull& pull) {
  const NDArray out = sparse::zeros(StorageKind::kRowSparse, entry.shape, entry.dtype);
  if (pull.request.only_rows()) {
    const std::vector<int64_t> rows(pull.request.rows().begin(), pull.request.rows().end());
    const std::vector<NDArray> ids{NDArray::from_host(rows.data(), {pull.request.rows_size()}, DType::kInt64)};
    const kvstore::Item item{key, {out}};
    store_->row_sparse_pull({&item, 1}, {&ids, 1}, 0);
  } else {
    store_->pull(key, {out});
  }
  Array message;
  set_array(out, message);
  const NDArray values = packed(out);
  values.wait_to_read();
  pull.asker.answer(std::move(message), {.elements = elements_of(values)});
}

// --- commands --------------------------------------------------------------------------------------------------------

void ServedStore::command(const CommandRequest& request, const Asker& asker) {
  if (request.repeats()) return ask(request, asker);
  if (request.settings() > 0) {
    if (asynchronous_)
      program_.command(number_, *store_, kSettings, last_settings_ = request.body());
    else if (rank_of(request.place()) == 0)
      settings_[request.settings()] = request.body();
    return asker.answer(grpc::Status::OK);
  }
  forget_told();
  carry_out(request);
  asker.answer(grpc::Status::OK);
}

// Once, however many workers send it.
void ServedStore::carry_out(const CommandRequest& request) {
  const int head = request.head();
  const size_t rank = rank_of(request.place());
  const auto last = commands_.find(head);
  if (last != commands_.end() && last->second.body == request.body()) {
    last->second.ranks.insert(rank);
    return;
  }
  try {
    program_.command(number_, *store_, head, request.body());
  } catch (const std::exception& error) {
    // Where workers may come the others go on; what one refuses that it was given twice changes nothing.
    if (head != kSetOptimizer || is_open_ || last == commands_.end() || last->second.ranks.contains(rank)) throw;
    fail_for_all(fmt::format("{}; the first is that of worker {}, the second that of worker {}", error.what(),
                             *last->second.ranks.begin(), rank));
  }
  if (head == kSetOptimizer && last != commands_.end())
    last->second.ranks.insert(rank);
  else
    commands_[head] = {request.body(), {rank}};
}

// Carried out each time.
void ServedStore::ask(const CommandRequest& request, const Asker& asker) {
  switch (request.head()) {
    case kWorkerStates:
      return asker.answer(worker_states());
    case kRestore:
      restored_ = request.body();
      is_restoring_ = true;
      for (const Asker& waiting : std::exchange(restored_asked_, {})) waiting.answer(*restored_);
      return asker.answer(grpc::Status::OK);
    case kRestored:
      is_restoring_ = false;
      return asker.answer(grpc::Status::OK);
    case kAskRestored:
      return ask_restored(asker);
    case kGetSettings:
      return asker.answer(last_settings_);
    case kHasRestored:
      return asker.answer(std::string(restored_ && !is_restoring_ ? "1" : "0"));
    case kJoin:
      return join(request, asker);
    case kAwaited:
      return asker.answer(awaited(request));
    default:
      forget_told();
      asker.answer(program_.command(number_, *store_, request.head(), request.body()));
  }
}

void ServedStore::ask_restored(const Asker& asker) {
  if (restored_) return asker.answer(*restored_);
  if (!is_awaited(0))
    return asker.answer({grpc::StatusCode::ABORTED, fmt::format("{} before it made the store", departed_.at(0))});
  restored_asked_.push_back(asker);
}

uint64_t ServedStore::pushes_in(const CommandRequest& request) {
  const auto pushes = whole_number<uint64_t>(request.body());
  check(pushes.has_value(), ErrorKind::kValue, "kvstore join: expected a number of pushes, got '{}'", request.body());
  return *pushes;
}

// Ranks, one space after each. None of an asynchronous store, whose workers wait for others only where these are slow.
std::string ServedStore::awaited(const CommandRequest& request) {
  const Entry& entry = find(request.place());
  const uint64_t pushes = pushes_in(request);
  std::string ranks;
  for (size_t rank = 0; rank < workers_ && !asynchronous_; ++rank)
    if (entry.rounds.first_without(rank, pushes)) ranks += fmt::format("{} ", rank);
  return ranks;
}

void ServedStore::join(const CommandRequest& request, const Asker& asker) {
  Entry& entry = find(request.place());
  const uint64_t pushes = pushes_in(request);
  entry.joined.insert_or_assign(rank_of(request.place()), Joined{pushes, asker});
  answer_joined(key_of(request.place().key()), entry);
}

// Who lacks a push of another worker goes on; when nobody does, and all are here, all have made the same. What they
// have pushed may come after what they say of it.
void ServedStore::answer_joined(const kvstore::Key& key, Entry& entry) {
  uint64_t most = 0;
  for (const auto& [rank, joined] : entry.joined) most = std::max(most, joined.pushes);
  const auto is_behind = [&](const Joined& one) {
    if (one.pushes < most) return true;
    for (size_t rank = 0; rank < workers_; ++rank)
      if (entry.rounds.has_pushed(rank, one.pushes)) return true;
    return false;
  };
  std::erase_if(entry.joined, [&](const auto& one) {
    if (!is_behind(one.second)) return false;
    one.second.asker.answer("1");
    return true;
  });
  if (!departed_.empty())
    refuse_joined(entry, fmt::format("key {}: {} before it joined", to_string(key), departed_.begin()->second));
  if (entry.joined.size() < workers_) return;
  for (const auto& [rank, joined] : std::exchange(entry.joined, {})) joined.asker.answer("0");
}

void ServedStore::refuse_joined(Entry& entry, const std::string& why) {
  for (const auto& [rank, joined] : std::exchange(entry.joined, {}))
    joined.asker.answer({grpc::StatusCode::ABORTED, why});
}

// As {"rank": state}; workers give them in JSON.
std::string ServedStore::worker_states() const {
  std::vector<std::string> all;
  for (const auto& [rank, state] : states_) all.push_back(fmt::format("\"{}\": {}", rank, state));
  return fmt::format("{{{}}}", fmt::join(all, ", "));
}

// --- nodes that are gone ---------------------------------------------------------------------------------------------

// Whether a worker of this rank is there, or another one may come.
bool ServedStore::is_awaited(size_t rank) const { return is_open_ || !departed_.contains(rank); }

std::string ServedStore::hopeless(const Entry& entry, const PullRequest& request) const {
  if (!entry.is_ready && !is_awaited(0)) return fmt::format("{} before it inited the key", departed_.at(0));
  if (asynchronous_) return {};
  for (const auto& [rank, how] : departed_)
    if (const auto round = entry.rounds.first_without(rank, request.pushes()))
      return fmt::format("{} before it pushed to round {}", how, *round);
  return {};
}

void ServedStore::answer_hopeless(const kvstore::Key& key, Entry& entry) {
  if (departed_.empty()) return;
  std::vector<Pull> waiting = std::move(entry.pulls);
  entry.pulls.clear();
  for (Pull& pull : waiting) {
    const std::string why = hopeless(entry, pull.request);
    if (why.empty())
      entry.pulls.push_back(std::move(pull));
    else
      pull.asker.answer({grpc::StatusCode::ABORTED, fmt::format("key {}: {}", to_string(key), why)});
  }
  if (entry.is_ready || is_awaited(0)) return;
  for (const Asker& waiting : entry.inits)
    waiting.answer({grpc::StatusCode::ABORTED,
                    fmt::format("key {}: {} before it inited the key", to_string(key), departed_.at(0))});
  entry.inits.clear();
}

void ServedStore::depart(const Departed& worker) {
  departed_[static_cast<size_t>(worker.rank)] = text_of(worker);
  if (worker.rank == 0) {
    is_restoring_ = false;
    for (const Asker& waiting : std::exchange(restored_asked_, {})) ask_restored(waiting);
  }
  for (auto& [key, entry] : entries_) {
    entry.applied.leave(static_cast<size_t>(worker.rank));
    answer_hopeless(key, entry);
    answer_hopeless_pushes(entry);
    answer_pulls(key, entry);  // who was ahead of it only
    answer_joined(key, entry);
  }
}

void ServedStore::arrive(size_t rank) { departed_.erase(rank); }

void ServedStore::give_up(const std::string& why) {
  const grpc::Status status(grpc::StatusCode::ABORTED, why);
  for (const Asker& waiting : std::exchange(restored_asked_, {})) waiting.answer(status);
  for (auto& [key, entry] : entries_) {
    for (const Asker& waiting : entry.inits) waiting.answer(status);
    for (const Pull& pull : entry.pulls) pull.asker.answer(status);
    refuse_joined(entry, why);
    entry.inits.clear();
    entry.pulls.clear();
  }
}

}  // namespace headrace::distributed
