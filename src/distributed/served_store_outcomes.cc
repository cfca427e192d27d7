// ServedStore: what became of pushes, as a server tells it to its backup, and as that takes it.

#include <algorithm>
#include <cstring>
#include <set>

#include "base/check.h"
#include "distributed/commands.h"
#include "distributed/history.h"
#include "distributed/served_store.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "kvstore/buckets.h"
#include "kvstore/rows.h"
#include "ndarray/view.h"
#include "op/invoke.h"

namespace headrace::distributed {

namespace {

constexpr double kNsPerToldByte = 0.2;  // of copying elements

}  // namespace

// A task that tells the backup what arrays hold, when they do. Where one could not be computed the task does not run,
// and its end tells that.
class ServedStore::Telling {
 public:
  Telling(std::shared_ptr<Backup> backup, Outcome head, Later later)
      : backup_(std::move(backup)), head_(std::move(head)), later_(std::move(later)), number_(backup_->reserve()) {}
  Telling(Telling&& other) noexcept
      : backup_(std::move(other.backup_)),
        head_(std::move(other.head_)),
        later_(std::move(other.later_)),
        number_(other.number_),
        parts_(std::move(other.parts_)),
        is_done_(std::exchange(other.is_done_, true)) {}
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  // Waits for the numbers of rows. `block`: in which the array lies; null: it is put where the backup sees it.
  void add(const NDArray& array, BlockPtr block = {}) {
    Part& part = parts_.emplace_back();
    set_array(array, part.message);
    part.packed = packed(array);
    part.block = std::move(block);
  }
  void set_kept(std::string kept) { head_.set_kept(std::move(kept)); }
  void set_has_rows() { head_.set_has_rows(true); }
  std::vector<Var*> reads() const {
    std::vector<Var*> all;
    for (const Part& part : parts_) all.push_back(&part.packed.view()->storage()->var());
    return all;
  }
  double bytes() const {
    double all = 0;
    for (const Part& part : parts_) all += static_cast<double>(kvstore::bytes_of(part.packed));
    return all;
  }

  void run() {
    is_done_ = true;
    Backup::Told told;
    for (Part& part : parts_) {
      Request request;
      Outcome& outcome = *request.mutable_outcome();
      const bool is_last = &part == &parts_.back();
      if (is_last)
        outcome = std::move(head_);
      else
        begin(outcome);
      outcome.set_is_last(is_last);
      *outcome.mutable_value() = std::move(part.message);
      told.emplace_back(std::move(request), load_of(part));
    }
    backup_->fill(number_, std::move(told));
  }
  // Nothing is there to be told but why.
  void fail_with(const std::string& why) {
    is_done_ = true;
    Backup::Told told(1);
    Outcome& outcome = *told[0].first.mutable_outcome();
    outcome = std::move(head_);
    outcome.set_is_last(true);
    outcome.set_error(why);
    backup_->fill(number_, std::move(told));
  }
  ~Telling() {
    if (is_done_) return;
    const auto same = std::make_shared<Telling>(std::move(*this));
    later_([same] {
      std::string why = "an array could not be read";
      try {
        for (const Part& part : same->parts_) part.packed.wait_to_read();
      } catch (const std::exception& error) {
        why = error.what();
      }
      same->fail_with(why);
    });
  }

 private:
  // Of a message before the last one.
  void begin(Outcome& outcome) const {
    *outcome.mutable_place() = head_.place();
    if (head_.has_inited()) *outcome.mutable_inited() = head_.inited();
  }

  struct Part {
    Array message = {};
    NDArray packed = {};
    BlockPtr block = {};
  };

  Load load_of(const Part& part) {
    const size_t bytes = kvstore::bytes_of(part.packed);
    if (part.block) return {.block = part.block, .bytes = bytes};
    const BlockPtr block = backup_->block_for(bytes);
    if (!block) return {.elements = elements_of(part.packed)};
    std::memcpy(block->data(), part.packed.view()->data(), bytes);
    return {.block = block, .bytes = bytes};
  }

  std::shared_ptr<Backup> backup_;
  Outcome head_;
  Later later_;
  const uint64_t number_;
  std::vector<Part> parts_;
  bool is_done_ = false;
};

// --- the primary -----------------------------------------------------------------------------------------------------

void ServedStore::tell_outcome(const kvstore::Key& key, Entry& entry, std::span<const Pushed> pushed,
                               const RowNumbers& rows, bool is_copy) {
  if (!backup_ || !backup_->is_there()) return;
  Outcome head;
  set_place(key, *head.mutable_place());
  head.set_closed(entry.rounds.closed());
  if (asynchronous_) entry.applied.tell(head);
  head.set_settings(used_settings_);
  for (const size_t rank : std::exchange(new_states_, {}))
    (*head.mutable_states())[static_cast<uint32_t>(rank)] = states_.at(rank);
  for (const Pushed& one : pushed)
    if (!one.id.empty()) head.add_history(one.id);
  if (is_copy) {
    set_type(entry.shape, entry.dtype, *head.mutable_inited());
    head.mutable_inited()->set_sparse(entry.sparse);
  }
  const auto telling = std::make_shared<Telling>(backup_, std::move(head), later_);
  if (!entry.error.empty()) return telling->fail_with(entry.error);
  try {
    tell_arrays(key, entry, telling, rows);
  } catch (const std::exception& error) {
    entry.told = 0;
    telling->fail_with(error.what());
  }
}

void ServedStore::set_place_without_key(Place& place) const {
  place.set_store(static_cast<uint32_t>(number_));
  place.set_asynchronous(asynchronous_);
  place.set_staleness(staleness_);
}

void ServedStore::set_place(const kvstore::Key& key, Place& place) const {
  set_place_without_key(place);
  set_key(key, *place.mutable_key());
}

void ServedStore::tell_arrays(const kvstore::Key& key, Entry& entry, const std::shared_ptr<Telling>& telling,
                              const RowNumbers& rows) {
  ServerProgram::Kept kept = program_.kept_for(number_, key);
  if (may_tell_rows(key, entry, kept.arrays, rows)) {
    tell_rows(key, entry, kept.arrays, *telling, *rows);
  } else {
    if (entry.sparse) {
      const NDArray all = sparse::zeros(StorageKind::kRowSparse, entry.shape, entry.dtype);
      store_->pull(key, {all});
      telling->add(all);
    } else {
      const Published published = publish(key, entry, [this](size_t bytes) { return backup_->block_for(bytes); });
      telling->add(published.array, published.block);
    }
    for (const NDArray& array : kept.arrays) telling->add(array);
  }
  telling->set_kept(std::move(kept.rest));
  entry.told = 1 + kept.arrays.size();
  const std::vector<Var*> reads = telling->reads();
  runtime().engine.push(TaskSpec{.name = "kvstore tell",
                                 .reads = reads,
                                 .cost_ns = Engine::kInlineCostNs + kNsPerToldByte * telling->bytes(),
                                 .priority = Priority::kHigh},
                        [telling] { telling->run(); });
}

// None: the backup is told all.
ServedStore::RowNumbers ServedStore::rows_told_of(std::span<const NDArray> values) const {
  if (!backup_ || !backup_->is_there() || !store_->updater()) return {};
  std::set<int64_t> numbers;
  for (const NDArray& value : values) {
    if (value.storage_kind() != StorageKind::kRowSparse) return {};
    const std::vector<int64_t> own = sparse::indices_of(value).to_vector<int64_t>();
    numbers.insert(own.begin(), own.end());
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

bool ServedStore::may_tell_rows(const kvstore::Key& key, const Entry& entry, const std::vector<NDArray>& kept,
                                const RowNumbers& rows) {
  const auto is_alike = [&](const NDArray& array) {
    const StorageKind kind = entry.sparse ? StorageKind::kRowSparse : StorageKind::kDense;
    return array.storage_kind() == kind && array.ndim() > 0 && array.shape()[0] == entry.shape[0];
  };
  return rows && entry.told == 1 + kept.size() && 2 * static_cast<int64_t>(rows->size()) < entry.shape[0] &&
         std::ranges::all_of(kept, is_alike) && program_.leaves_other_rows(number_, key);
}

void ServedStore::tell_rows(const kvstore::Key& key, const Entry& entry, const std::vector<NDArray>& kept,
                            Telling& telling, const std::vector<int64_t>& rows) {
  const NDArray ids = NDArray::from_host(rows.data(), {static_cast<int64_t>(rows.size())}, DType::kInt64);
  const NDArray stored = sparse::zeros(StorageKind::kRowSparse, entry.shape, entry.dtype);
  const kvstore::Item item{key, {stored}};
  const std::vector<NDArray> asked{ids};
  store_->row_sparse_pull({&item, 1}, {&asked, 1}, 0);
  telling.set_has_rows();
  telling.add(stored);
  for (const NDArray& array : kept) telling.add(kvstore::rows_of(array, ids));
}

void ServedStore::forget_told() {
  for (auto& [key, entry] : entries_) entry.told = 0;
}

void ServedStore::tell_command(CommandRequest&& command) {
  Request request;
  *request.mutable_repeated()->mutable_command() = std::move(command);
  set_place_without_key(*request.mutable_repeated()->mutable_command()->mutable_place());
  backup_->tell(std::move(request), {});
}

// What has no number is repeated as if worker 0 had asked for it. Workers that wait ask again, except those that have
// joined: some of them may have been told that all have.
void ServedStore::copy_to_backup() {
  const auto tell = [this](int head, const std::string& body, uint64_t settings, bool repeats) {
    CommandRequest command;
    command.set_head(head);
    command.set_body(body);
    command.set_settings(settings);
    command.set_repeats(repeats);
    tell_command(std::move(command));
  };
  for (const auto& [head, carried] : commands_) tell(head, carried.body, 0, false);
  if (!last_settings_.empty()) tell(kSettings, last_settings_, asynchronous_ ? 1 : used_settings_, false);
  for (const auto& [number, body] : settings_) tell(kSettings, body, number, false);
  if (restored_) tell(kRestore, *restored_, 0, true);
  if (restored_ && !is_restoring_) tell(kRestored, {}, 0, true);
  for (const auto& [rank, state] : states_) new_states_.insert(rank);
  for (auto& [key, entry] : entries_) {
    if (!entry.is_ready && entry.error.empty()) continue;  // its init has not been answered
    tell_outcome(key, entry, {}, {}, true);
    for (const auto& [rank, joined] : entry.joined) {
      Request request;
      Repeated& told = *request.mutable_repeated();
      told.set_rank(static_cast<uint32_t>(rank));
      told.set_incarnation(joined.asker.incarnation());
      told.set_number(joined.asker.number());
      set_place(key, *told.mutable_command()->mutable_place());
      told.mutable_command()->mutable_place()->set_rank(static_cast<uint32_t>(rank));
      told.mutable_command()->set_head(kJoin);
      told.mutable_command()->set_body(std::to_string(joined.pushes));
      told.mutable_command()->set_repeats(true);
      backup_->tell(std::move(request), {});
    }
  }
}

void ServedStore::answer_hopeless_pushes(Entry& entry) {
  if (!backup_ || (entry.error.empty() && departed_.empty())) return;
  entry.rounds.visit([&](uint64_t round, Pushed& pushed) {
    const auto is_missing = [&](const auto& departed) { return !entry.rounds.has_pushed(departed.first, round); };
    if (!pushed.asker || (entry.error.empty() && std::ranges::none_of(departed_, is_missing))) return;
    pushed.asker->answer(grpc::Status::OK);
    pushed.asker.reset();
  });
}

// --- the backup ------------------------------------------------------------------------------------------------------

void ServedStore::take_outcome(Outcome&& outcome, const Elements& elements) {
  Entry& entry =
      outcome.has_inited() ? find_or_make(key_of(outcome.place().key()), outcome.inited(), 0) : find(outcome.place());
  if (outcome.has_value()) entry.arriving.push_back(array_of(outcome.value(), elements));
  if (!outcome.is_last()) return;
  std::vector<NDArray> arrays = std::exchange(entry.arriving, {});
  if (!outcome.error().empty()) {
    entry.error = outcome.error();
  } else if (outcome.has_rows()) {
    const kvstore::Key key = key_of(outcome.place().key());
    Taken taken = entry.taken ? *std::exchange(entry.taken, {}) : Taken{ToldArrays(own_arrays(key, entry))};
    taken.arrays.change_rows(std::move(arrays));
    entry.taken = Taken{std::move(taken.arrays), outcome.kept(), ++taken_};
  } else {
    entry.taken = Taken{ToldArrays(std::move(arrays)), outcome.kept(), ++taken_};
  }
  entry.rounds.skip_to(outcome.closed());
  entry.applied.take(outcome);
  for (const auto& [rank, state] : outcome.states()) states_[rank] = state;
  use_settings(outcome.settings());
  for (const std::string& id : outcome.history()) history::write("applied", id);
}

// What is stored here, and what the program keeps for it.
std::vector<NDArray> ServedStore::own_arrays(const kvstore::Key& key, const Entry& entry) {
  check(entry.is_ready, ErrorKind::kValue, "distributed: rows of an array came that has not been inited");
  std::vector<NDArray> arrays{entry.sparse ? sparse::zeros(StorageKind::kRowSparse, entry.shape, entry.dtype)
                                           : NDArray::empty(entry.shape, entry.dtype)};
  store_->pull(key, {arrays[0]});
  for (const NDArray& array : program_.kept_for(number_, key).arrays) arrays.push_back(array);
  return arrays;
}

// In the order in which they came: what programs keep beside arrays may be of all keys.
void ServedStore::settle() {
  std::vector<std::pair<const kvstore::Key*, Entry*>> due;
  for (auto& [key, entry] : entries_)
    if (entry.taken) due.emplace_back(&key, &entry);
  std::ranges::sort(due, {}, [](const auto& one) { return one.second->taken->order; });
  for (const auto& [key, entry] : due) {
    try {
      settle(*key, *entry);
    } catch (const std::exception& error) {
      entry->error = error.what();
    }
  }
}

// Whatever is borrowed is copied, as it will be written.
void ServedStore::settle(const kvstore::Key& key, Entry& entry) {
  Taken taken = *std::exchange(entry.taken, {});
  const std::vector<NDArray>& arrays = taken.arrays.whole();
  check(!arrays.empty(), ErrorKind::kValue, "distributed: an outcome without an array came");
  const kvstore::Item item{key, {arrays[0]}};
  if (std::exchange(entry.is_ready, true))
    store_->replace({&item, 1});
  else
    store_->init({&item, 1});
  entry.published = {};
  ServerProgram::Kept kept{.rest = taken.kept};
  for (size_t i = 1; i < arrays.size(); ++i) kept.arrays.push_back(copied_to(arrays[i], {}));
  program_.keep_for(number_, key, kept);
}

}  // namespace headrace::distributed
