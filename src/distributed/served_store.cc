#include "distributed/served_store.h"

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"

namespace headrace::distributed {

using kvstore::to_string;

namespace {

constexpr int kSettings = -1;  // head of the command with the optimizer's settings

// Sums of half floats are taken in float32, as those of one machine are.
bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

std::vector<NDArray> widened_sum(const std::vector<NDArray>& values, DType dtype) {
  NDArray sum = cast_to(values[0], DType::kFloat32);
  for (size_t i = 1; i < values.size(); ++i) sum = call("elemwise_add", {sum, cast_to(values[i], DType::kFloat32)});
  return {cast_to(sum, dtype)};
}

}  // namespace

ServedStore::ServedStore(int number, int workers, bool asynchronous, ServerProgram& program)
    : number_(number),
      workers_(static_cast<size_t>(workers)),
      asynchronous_(asynchronous),
      program_(program),
      store_(kvstore::create("local")) {}

size_t ServedStore::rank_of(const Place& place) const {
  check(place.rank() < workers_, ErrorKind::kValue, "distributed: a request of rank {} came, the job has {} workers",
        place.rank(), workers_);
  return place.rank();
}

ServedStore::Entry& ServedStore::find(const Place& place) {
  const auto found = entries_.find(key_of(place.key()));
  check(found != entries_.end(), ErrorKind::kValue, "kvstore: key {} has not been inited",
        to_string(key_of(place.key())));
  return found->second;
}

// --- init ------------------------------------------------------------------------------------------------------------

void ServedStore::init(const InitRequest& request, Answer answer) {
  const kvstore::Key key = key_of(request.place().key());
  const size_t rank = rank_of(request.place());
  if (request.replaces()) {
    find(request.place());
    store_->replace(key, array_of(request.value()));
    return answer(grpc::Status::OK);
  }
  Entry& entry = entries_.try_emplace(key, request.value(), workers_).first->second;
  if (shape_of(request.value()) != entry.shape || dtype_of(request.value()) != entry.dtype)
    spoil(key, entry,
          fmt::format("kvstore init: key {}: rank {} inits an array of shape {} of {}, another rank one of shape {} of "
                      "{}; all ranks init a key alike",
                      to_string(key), rank, to_string(shape_of(request.value())), dtype_name(dtype_of(request.value())),
                      to_string(entry.shape), dtype_name(entry.dtype)));
  check(entry.error.empty(), ErrorKind::kValue, "{}", entry.error);
  if (rank == 0 && !entry.is_ready) {
    store_->init(key, array_of(request.value()));
    entry.is_ready = true;
    for (const Answer& waiting : entry.inits) waiting(grpc::Status::OK);
    entry.inits.clear();
    answer_pulls(key, entry);
  }
  if (entry.is_ready) return answer(grpc::Status::OK);
  entry.inits.push_back(std::move(answer));
  answer_hopeless(key, entry);
}

// --- push ------------------------------------------------------------------------------------------------------------

NDArray ServedStore::pushed_value(const PushRequest& request, const Entry& entry) const {
  check(shape_of(request.value()) == entry.shape, ErrorKind::kValue,
        "kvstore push: key {}: rank {} pushes an array of shape {}, the key has {}",
        to_string(key_of(request.place().key())), request.place().rank(), to_string(shape_of(request.value())),
        to_string(entry.shape));
  if (request.threshold() <= 0) return array_of(request.value());
  const std::string& bytes = request.value().elements();
  const NDArray packed = NDArray::from_host(bytes.data(), {static_cast<int64_t>(bytes.size())}, DType::kUint8);
  return call("_two_bit_dequantize", {packed},
              {{"threshold", static_cast<double>(request.threshold())}, {"shape", entry.shape}});
}

void ServedStore::push(const PushRequest& request, const Answer& answer) {
  rank_of(request.place());
  Entry& entry = find(request.place());
  const kvstore::Key key = key_of(request.place().key());
  try {
    take(key, entry, request);
  } catch (const std::exception& error) {  // what waits for it will not come
    spoil(key, entry, error.what());
    throw;
  }
  answer(grpc::Status::OK);
}

// What is stored will never be what it should be: tells all who wait for it, and all who ask.
void ServedStore::spoil(const kvstore::Key& key, Entry& entry, const std::string& why) {
  if (entry.error.empty()) entry.error = why;
  for (const Answer& waiting : entry.inits) waiting({grpc::StatusCode::INVALID_ARGUMENT, entry.error});
  entry.inits.clear();
  answer_pulls(key, entry);
}

void ServedStore::take(const kvstore::Key& key, Entry& entry, const PushRequest& request) {
  const size_t rank = request.place().rank();
  check(!asynchronous_ || store_->updater(), ErrorKind::kRuntime,
        "kvstore push: an asynchronous store has no rounds, so its servers must update: call set_optimizer before the "
        "first push");
  Pushed pushed{pushed_value(request, entry), request.settings()};
  if (asynchronous_) {
    apply(key, entry, {std::move(pushed)});
    ++entry.applied[rank];
    answer_pulls(key, entry);
  } else if (entry.rounds.add(rank, request.round(), std::move(pushed))) {
    close_rounds(key, entry);
  }
}

void ServedStore::close_rounds(const kvstore::Key& key, Entry& entry) {
  if (!entry.is_ready) return;
  while (std::optional<std::vector<Pushed>> all = entry.rounds.close_next()) apply(key, entry, std::move(*all));
  answer_pulls(key, entry);
}

// In the order of the ranks. What goes wrong is told to all who pull.
void ServedStore::apply(const kvstore::Key& key, Entry& entry, std::vector<Pushed> pushed) {
  try {
    use_settings(pushed[0].settings);
    std::vector<NDArray> values;
    for (Pushed& one : pushed) values.push_back(std::move(one.value));
    const bool is_dense = values[0].storage_kind() == StorageKind::kDense;
    if (is_dense && values.size() > 1 && is_half(values[0].dtype())) values = widened_sum(values, values[0].dtype());
    store_->push(key, std::move(values));
  } catch (const std::exception& error) {
    entry.error = error.what();
  }
}

void ServedStore::use_settings(uint64_t number) {
  if (asynchronous_ || number <= used_settings_) return;
  used_settings_ = number;
  program_.command(number_, *store_, kSettings, settings_.at(number));
  settings_.erase(settings_.begin(), settings_.upper_bound(number));
}

// --- pull ------------------------------------------------------------------------------------------------------------

bool ServedStore::is_due(const Entry& entry, const PullRequest& request) const {
  if (!entry.error.empty()) return true;
  const uint64_t known = asynchronous_ ? entry.applied[request.place().rank()] : entry.rounds.closed();
  return entry.is_ready && known >= request.pushes();
}

void ServedStore::pull(const PullRequest& request, Array& reply, Answer answer) {
  rank_of(request.place());
  Entry& entry = find(request.place());
  const Pull pull{&request, &reply, std::move(answer)};
  const kvstore::Key key = key_of(request.place().key());
  if (is_due(entry, request)) return answer_pull(key, entry, pull);
  entry.pulls.push_back(pull);
  answer_hopeless(key, entry);
}

void ServedStore::answer_pulls(const kvstore::Key& key, Entry& entry) {
  std::vector<Pull> waiting = std::move(entry.pulls);
  entry.pulls.clear();
  for (Pull& pull : waiting) {
    if (is_due(entry, *pull.request))
      answer_pull(key, entry, pull);
    else
      entry.pulls.push_back(std::move(pull));
  }
}

void ServedStore::answer_pull(const kvstore::Key& key, const Entry& entry, const Pull& pull) {
  if (!entry.error.empty()) return pull.answer({grpc::StatusCode::INTERNAL, entry.error});
  try {
    fill(key, entry, *pull.request, *pull.reply);
  } catch (const std::exception& error) {
    return pull.answer({grpc::StatusCode::INTERNAL, error.what()});
  }
  pull.answer(grpc::Status::OK);
}

void ServedStore::fill(const kvstore::Key& key, const Entry& entry, const PullRequest& request, Array& reply) {
  const bool is_sparse = entry.sparse || request.only_rows();
  const NDArray out = is_sparse ? sparse::zeros(StorageKind::kRowSparse, entry.shape, entry.dtype)
                                : NDArray::empty(entry.shape, entry.dtype);
  if (request.only_rows()) {
    const std::vector<int64_t> rows(request.rows().begin(), request.rows().end());
    const std::vector<NDArray> ids{NDArray::from_host(rows.data(), {request.rows_size()}, DType::kInt64)};
    const kvstore::Item item{key, {out}};
    store_->row_sparse_pull({&item, 1}, {&ids, 1}, 0);
  } else {
    store_->pull(key, {out});
  }
  set_array(out, reply);
}

// --- commands --------------------------------------------------------------------------------------------------------

void ServedStore::command(const CommandRequest& request, const Answer& answer) {
  if (request.settings() > 0) {
    if (asynchronous_)
      program_.command(number_, *store_, kSettings, request.body());
    else if (rank_of(request.place()) == 0)
      settings_[request.settings()] = request.body();
    return answer(grpc::Status::OK);
  }
  const auto [last, is_first] = commands_.try_emplace(request.head(), request.body());
  if (is_first || last->second != request.body()) {
    last->second = request.body();
    try {
      program_.command(number_, *store_, request.head(), request.body());
    } catch (...) {
      commands_.erase(request.head());
      throw;
    }
  }
  answer(grpc::Status::OK);
}

// --- nodes that are gone ---------------------------------------------------------------------------------------------

std::string ServedStore::hopeless(const Entry& entry, const PullRequest& request) const {
  if (!entry.is_ready && departed_.contains(0)) return fmt::format("{} before it inited the key", departed_.at(0));
  if (asynchronous_) return {};
  for (const auto& [rank, how] : departed_)
    for (uint64_t round = entry.rounds.closed(); round < request.pushes(); ++round)
      if (!entry.rounds.has_pushed(rank, round)) return fmt::format("{} before it pushed to round {}", how, round);
  return {};
}

void ServedStore::answer_hopeless(const kvstore::Key& key, Entry& entry) {
  if (departed_.empty()) return;
  std::vector<Pull> waiting = std::move(entry.pulls);
  entry.pulls.clear();
  for (Pull& pull : waiting) {
    const std::string why = hopeless(entry, *pull.request);
    if (why.empty())
      entry.pulls.push_back(std::move(pull));
    else
      pull.answer({grpc::StatusCode::ABORTED, fmt::format("key {}: {}", to_string(key), why)});
  }
  if (entry.is_ready || !departed_.contains(0)) return;
  for (const Answer& answer : entry.inits)
    answer({grpc::StatusCode::ABORTED,
            fmt::format("key {}: {} before it inited the key", to_string(key), departed_.at(0))});
  entry.inits.clear();
}

void ServedStore::depart(const Departed& worker) {
  departed_[static_cast<size_t>(worker.rank)] = text_of(worker);
  for (auto& [key, entry] : entries_) answer_hopeless(key, entry);
}

void ServedStore::give_up(const std::string& why) {
  const grpc::Status status(grpc::StatusCode::ABORTED, why);
  for (auto& [key, entry] : entries_) {
    for (const Answer& answer : entry.inits) answer(status);
    for (const Pull& pull : entry.pulls) pull.answer(status);
    entry.inits.clear();
    entry.pulls.clear();
  }
}

}  // namespace headrace::distributed
