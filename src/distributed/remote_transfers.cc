// RemoteStore: arrays on their way.

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "distributed/commands.h"
#include "distributed/long_waits.h"
#include "distributed/messages.h"
#include "distributed/remote_store.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "kvstore/buckets.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::distributed {

using kvstore::Item;
using kvstore::Part;
using kvstore::to_string;

namespace {

constexpr double kNsPerByte = 0.2;                           // of copying elements
constexpr double kPackCostNs = 300;                          // of few: whoever pushes may do it
constexpr size_t kMostTogether = 2 * kvstore::kBucketBytes;  // of arrays that one task receives
constexpr size_t kExchanged = kvstore::kBucketBytes / 2;     // of arrays that are sent before their sums are asked for

}  // namespace

// --- push ------------------------------------------------------------------------------------------------------------

// A shard of an array on its way through two tasks. One packs it, and does not run where the array could not be
// computed; one sends it, or that it is missing, in the order of the pushes.
class RemoteStore::Sending {
 public:
  // `bytes`: of the memory of the array.
  Sending(Session& session, Shard bytes, Request request, std::shared_ptr<Room::Cargo> cargo)
      : session_(session), bytes_(bytes), request_(std::move(request)), cargo_(std::move(cargo)) {}

  // What both tasks write.
  Var& packed() noexcept { return packed_; }
  double bytes() const noexcept { return static_cast<double>(bytes_.end - bytes_.begin); }

  void pack(const NDArray& value) {
    const auto begin = static_cast<size_t>(bytes_.begin), end = static_cast<size_t>(bytes_.end);
    load_ = load_for(session_, bytes_.owner, value, begin, end);
  }
  void send() {
    if (const std::exception_ptr error = packed_.error())
      send_failure(session_, bytes_.owner, std::move(request_), error);
    else
      session_.send(bytes_.owner, std::move(request_), std::move(load_), std::move(cargo_));
  }

 private:
  Session& session_;
  const Shard bytes_;
  Request request_;
  const std::shared_ptr<void> announced_ = session_.announce();
  std::shared_ptr<Room::Cargo> cargo_;
  Var packed_;
  Load load_;
};

// Others wait for the sum: the server has to know that it will not come.
void RemoteStore::send_failure(Session& session, size_t server, Request request, const std::exception_ptr& error) {
  std::string why;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    why = known.what();
  } catch (...) {
    why = "an error of an unknown kind";
  }
  request.mutable_push()->set_failure(why);
  request.mutable_push()->clear_value();
  session.send(server, std::move(request), {}, nullptr);
}

// The sum of what this worker pushes, in host memory and the dtype of its key.
NDArray RemoteStore::summed(const Part& part) const {
  const DType dtype = part.entry().dtype;
  std::vector<NDArray> values;
  values.reserve(part.arrays.size());
  for (const NDArray& array : part.arrays) values.push_back(cast_to(array, dtype));
  if (values.size() == 1) return packed(values[0]);
  const NDArray sum = NDArray::empty(values[0].shape(), dtype, devices_->home(values, {}));
  devices_->reduce(kvstore::Reduction(), values, sum);
  return packed(sum);
}

Request RemoteStore::push_request(const Part& part, Remote& remote) {
  Request request;
  PushRequest& push = *request.mutable_push();
  set_place(part.key(), *push.mutable_place());
  push.set_round(remote.pushes);
  push.set_settings(settings_);
  push.set_state(std::exchange(state_, {}));
  return request;
}

void RemoteStore::push_dense(const Part& part, NDArray value, int priority) {
  Remote& remote = remote_of(part);
  int64_t elements_per_byte = 1;
  auto item = static_cast<int64_t>(item_size(value.dtype()));
  const Shape shape = value.shape();
  if (compression_) {
    std::vector<NDArray>& residuals = part.entry().residuals;
    if (residuals.empty()) residuals.push_back(zeros_like(value));
    value = call("_two_bit_quantize", {value, residuals[0]}, {{"threshold", compression_->threshold}});
    elements_per_byte = 4;
    item = 1;
  }
  for (const Shard& shard : remote.shards) {
    Request request = push_request(part, remote);
    PushRequest& push = *request.mutable_push();
    if (compression_) push.set_threshold(static_cast<float>(compression_->threshold));
    set_type(remote.shards.size() == 1 ? shape : Shape{shard.end - shard.begin}, part.entry().dtype,
             *push.mutable_value());
    const auto place = [&](int64_t element) { return (element + elements_per_byte - 1) / elements_per_byte * item; };
    // What is compressed ends with a whole word.
    const bool is_end = compression_ && &shard == &remote.shards.back();
    const Shard bytes{shard.owner, place(shard.begin), is_end ? value.size() : place(shard.end)};
    auto cargo = session_.book(static_cast<size_t>(bytes.end - bytes.begin), sharing_.asynchronous);
    send(remote, value, std::make_shared<Sending>(session_, bytes, std::move(request), std::move(cargo)), priority);
  }
  ++remote.pushes;
}

void RemoteStore::send(Remote& remote, const NDArray& value, const std::shared_ptr<Sending>& sending, int urgency) {
  Var* const read = &value.view()->storage()->var();
  Var* const packed[] = {&sending->packed(), remote.packed.get()};
  runtime().engine.push(TaskSpec{.name = "kvstore pack",
                                 .reads = {&read, 1},
                                 .writes = packed,
                                 .cost_ns = kPackCostNs + kNsPerByte * sending->bytes(),
                                 .priority = Priority::kHigh,
                                 .urgency = urgency,
                                 .bytes = sending->bytes()},
                        [sending, value, held = remote.packed] { sending->pack(value); });
  Var* const settings = settings_order_.get();
  Var* const sent[] = {&sending->packed(), remote.order.get()};
  runtime().engine.push(TaskSpec{.name = "kvstore send",
                                 .reads = {&settings, 1},
                                 .writes = sent,
                                 .cost_ns = Engine::kInlineCostNs,
                                 .priority = Priority::kHigh,
                                 .urgency = urgency},
                        [sending, order = remote.order, settings_order = settings_order_] { sending->send(); });
}

// Waits for the rows: how many there are says how long the message is.
void RemoteStore::push_rows(const Part& part) {
  Remote& remote = remote_of(part);
  check(!compression_, ErrorKind::kRuntime,
        "kvstore push: key {}: row_sparse arrays are summed, and not compressed; push dense ones",
        to_string(part.key()));
  NDArray sum = copied_to(cast_to(part.arrays[0], part.entry().dtype), Device{});
  for (size_t k = 1; k < part.arrays.size(); ++k)
    sum = call("_grad_add", {sum, copied_to(cast_to(part.arrays[k], part.entry().dtype), Device{})});
  check(sum.storage_kind() != StorageKind::kDense || remote.shards.size() == 1, ErrorKind::kRuntime,
        "kvstore push: key {}: a dense sum of row_sparse arrays", to_string(part.key()));
  check(remote.shards.size() == 1, ErrorKind::kRuntime,
        "kvstore push: key {}: a row_sparse array was pushed for a dense one of {} elements, which lies on {} servers; "
        "init the key with a row_sparse array, or set MXNET_KVSTORE_BIGARRAY_BOUND above that on all workers, so that "
        "one "
        "server holds it",
        to_string(part.key()), sum.size(), remote.shards.size());
  Request request = push_request(part, remote);
  const size_t server = remote.shards[0].owner;
  NDArray values;
  try {
    values = packed(sum);
    values.wait_to_read();
    runtime().engine.wait_to_read(*settings_order_);
  } catch (...) {
    send_failure(session_, server, std::move(request), std::current_exception());
    ++remote.pushes;
    throw;
  }
  const size_t bytes = kvstore::bytes_of(values);
  set_array(sum, *request.mutable_push()->mutable_value());
  auto cargo = session_.book(bytes, sharing_.asynchronous);
  session_.send(server, std::move(request), load_for(session_, server, values, 0, bytes), std::move(cargo));
  ++remote.pushes;
}

std::vector<Part> RemoteStore::parts_to_push(std::span<const Item> items) {
  std::vector<Part> parts = entries_.parts_of("push", items);
  for (const Part& part : parts)
    check(!compression_ || part.entry().dtype == DType::kFloat32, ErrorKind::kType,
          "kvstore push: key {}: gradient compression is for float32, got {}", to_string(part.key()),
          dtype_name(part.entry().dtype));
  return parts;
}

void RemoteStore::push_parts(std::span<const Part> parts, int priority) {
  const PriorityScope scope(Priority::kHigh, priority);
  for (const Part& part : parts) {
    const auto is_dense = [](const NDArray& array) { return array.storage_kind() == StorageKind::kDense; };
    if (std::ranges::all_of(part.arrays, is_dense))
      push_dense(part, summed(part), priority);
    else
      push_rows(part);
  }
}

void RemoteStore::push(std::span<const Item> items, int priority) {
  session_.raise_failure();
  push_parts(parts_to_push(items), priority);
}

// --- pull ------------------------------------------------------------------------------------------------------------

// What is asked of servers, and is there when others have pushed.
struct RemoteStore::Pulling {
  struct Asked {
    size_t server;
    Place place;
    uint64_t pushes;
  };

  Session& session;
  std::function<bool()> arrive;  // these two: as a Wait has them
  bool holds_program;
  bool waits_for_servers;  // alone, not for other workers
  std::vector<Session::Call> calls = {};
  kvstore::Key first = {};
  std::shared_ptr<Session::Answers> answers = {};
  std::shared_ptr<std::vector<Asked>> asked = std::make_shared<std::vector<Asked>>();  // of the calls

  PullRequest& add(size_t server) {
    return *calls.emplace_back(Session::Call{.server = server}).request.mutable_pull();
  }

  void ask() {
    if (!calls.empty()) first = key_of(calls[0].request.pull().place().key());
    for (const Session::Call& call : calls)
      asked->push_back({call.server, call.request.pull().place(), call.request.pull().pushes()});
    answers = session.ask("pull", calls);
  }

  // False: the process is ending.
  bool await() {
    const LongWait told([&] {
      if (waits_for_servers)
        return fmt::format(
            "kvstore pull: {} waits for {}; key {}: what was pushed before is on its way, or the server is slow",
            name_of_worker(session), session.name_of(asked->front().server), to_string(first));
      return fmt::format(
          "kvstore pull: {} waits until all workers have pushed key {} as often as it has; one may be at a barrier, in "
          "another part of the program, or have no more data (Trainer.join)",
          name_of_worker(session), to_string(first));
    });
    Standstill::Wait wait{fmt::format("waits until all have pushed key {} as often as it has", to_string(first)),
                          arrive};
    wait.awaited = [&session = session, answers = answers, asked = asked] {
      return awaited(session, *answers, *asked);
    };
    wait.holds_program = holds_program;
    const Standstill::Scope waits(session.standstill(), std::move(wait));
    return session.await("pull", *answers, calls);
  }

  // Who has not pushed what one of the answers needs that have not come.
  static std::vector<uint32_t> awaited(Session& session, const Session::Answers& answers,
                                       const std::vector<Asked>& asked) {
    for (size_t i = 0; i < asked.size(); ++i) {
      if (session.has_come(answers, i)) continue;
      std::vector<Session::Call> calls(1);
      calls[0].server = asked[i].server;
      CommandRequest& request = *calls[0].request.mutable_command();
      *request.mutable_place() = asked[i].place;
      request.set_head(kAwaited);
      request.set_body(std::to_string(asked[i].pushes));
      request.set_repeats(true);
      if (!session.exchange("command", calls)) return {};
      if (std::vector<uint32_t> ranks = ranks_in(calls[0].reply.answer()); !ranks.empty()) return ranks;
    }
    return {};
  }
};

// Two tasks: one asks the servers for arrays, behind the pushes of these and before later ones, so that sums come while
// others are sent; one waits for them. Servers answer when others have pushed, so it waits for pushes alone, and these
// for nobody.
struct RemoteStore::Receiving {
  struct Landing {
    NDArray array;  // packed, in host memory
    size_t shards;
  };

  Pulling pulling;  // the shards of all landings, in order
  std::shared_ptr<void> announced;
  std::vector<std::shared_ptr<Var>> orders = {};
  std::vector<Landing> landings = {};
  std::shared_ptr<Var> asking = std::make_shared<Var>();

  void take() {
    if (!pulling.await()) return;
    std::span<const Session::Call> left = pulling.calls;
    for (const Landing& landing : landings) {
      land(landing.array, left.first(landing.shards));
      left = left.subspan(landing.shards);
    }
  }

  static void land(const NDArray& array, std::span<const Session::Call> shards) {
    const View& view = *array.view();
    size_t missing = kvstore::bytes_of(array);
    if (missing == 0) return;
    view.storage()->begin_write(view.covers_storage());
    char* place = view.data();
    for (const Session::Call& shard : shards) {
      const size_t bytes = shard.elements.size();
      check(bytes <= missing, ErrorKind::kRuntime, "kvstore pull: {} bytes came more than the array has",
            bytes - missing);
      shard.elements.copy_to(place);
      place += bytes;
      missing -= bytes;
    }
    check(missing == 0, ErrorKind::kRuntime, "kvstore pull: {} bytes of the array did not come", missing);
  }
};

RemoteStore::Pulling RemoteStore::pulling(bool holds_program) const {
  return {.session = session_,
          .arrive = wait_of({}).arrive,
          .holds_program = holds_program,
          .waits_for_servers = sharing_.asynchronous && sharing_.staleness < 1};
}

// Into the first array of each part, where that is as what is stored.
void RemoteStore::receive(std::span<const Part> parts, int priority) {
  const auto body = std::make_shared<Receiving>(pulling(false), session_.announce());
  std::vector<Var*> orders, reads, writes;
  for (const Part& part : parts) {
    Remote& remote = remote_of(part);
    const NDArray& out = part.arrays[0];
    const bool is_direct = out.storage_kind() == StorageKind::kDense && out.device().is_host() &&
                           out.dtype() == part.entry().dtype && out.is_contiguous();
    const NDArray landing = is_direct ? out : NDArray::empty(out.shape(), part.entry().dtype);
    for (const Shard& shard : remote.shards) {
      PullRequest& request = body->pulling.add(shard.owner);
      set_place(part.key(), *request.mutable_place());
      request.set_pushes(remote.pushes);
    }
    Storage& storage = *landing.view()->storage();
    orders.insert(orders.end(), {remote.order.get(), remote.packed.get()});
    writes.push_back(&storage.var());
    if (!landing.view()->covers_storage()) reads.push_back(&storage.var());  // the rest keeps an earlier error
    body->orders.insert(body->orders.end(), {remote.order, remote.packed});
    body->landings.push_back({landing, remote.shards.size()});
  }
  const std::vector<Receiving::Landing> landings = body->landings;
  Var* const asking = body->asking.get();
  runtime().engine.push(TaskSpec{.name = "kvstore ask",
                                 .reads = orders,
                                 .writes = {&asking, 1},
                                 .cost_ns = Engine::kInlineCostNs,
                                 .priority = Priority::kHigh,
                                 .urgency = priority},
                        [body] { body->pulling.ask(); });
  reads.push_back(asking);
  runtime().engine.push(TaskSpec{.name = "kvstore receive",
                                 .reads = reads,
                                 .writes = writes,
                                 .cost_ns = Engine::kInlineCostNs,
                                 .priority = Priority::kHigh,
                                 .urgency = priority,
                                 .may_block = true},
                        [body] { body->take(); });
  for (size_t i = 0; i < parts.size(); ++i)
    for (const NDArray& out : parts[i].arrays)
      if (out.view() != landings[i].array.view()) copy_into(out, landings[i].array);
}

// The stored rows; `rows` null: all. Waits.
NDArray RemoteStore::receive_rows(const Part& part, const std::vector<int64_t>* rows) {
  Remote& remote = remote_of(part);
  Pulling asking = pulling(true);
  PullRequest& request = asking.add(remote.shards[0].owner);
  set_place(part.key(), *request.mutable_place());
  request.set_pushes(remote.pushes);
  request.set_only_rows(rows != nullptr);
  if (rows) request.mutable_rows()->Assign(rows->begin(), rows->end());
  asking.ask();
  if (!asking.await()) return part.entry().stored;
  return array_of(asking.calls[0].reply.value(), asking.calls[0].elements);
}

void RemoteStore::pull_parts(std::span<const Part> parts, int priority) {
  const PriorityScope scope(Priority::kHigh, priority);
  std::vector<Part> together;
  size_t bytes = 0;
  const auto receive_them = [&] {
    if (!together.empty()) receive(together, priority);
    together.clear();
    bytes = 0;
  };
  for (const Part& part : parts) {
    if (remote_of(part).sparse) {
      const NDArray rows = receive_rows(part, nullptr);
      for (const NDArray& out : part.arrays) copy_into(out, rows);
      continue;
    }
    together.push_back(part);
    bytes += kvstore::bytes_of(part.entry().stored);
    if (bytes >= kMostTogether) receive_them();
  }
  receive_them();
}

void RemoteStore::pull(std::span<const Item> items, int priority) {
  session_.raise_failure();
  pull_parts(entries_.parts_of("pull", items), priority);
}

// Where both name the same keys, a few at a time: the sums of these come while the next are sent.
void RemoteStore::pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) {
  session_.raise_failure();
  const std::vector<Part> pushed = parts_to_push(values), pulled = entries_.parts_of("pull", outs);
  const bool are_same = std::ranges::equal(pushed, pulled, {}, &Part::place, &Part::place);
  size_t begin = 0, bytes = 0;
  const auto exchange_up_to = [&](size_t end) {
    push_parts(std::span(pushed).subspan(begin, end - begin), priority);
    if (are_same) pull_parts(std::span(pulled).subspan(begin, end - begin), priority);
    begin = end;
    bytes = 0;
  };
  for (size_t i = 0; are_same && i < pushed.size(); ++i) {
    bytes += kvstore::bytes_of(pushed[i].entry().stored);
    if (bytes >= kExchanged) exchange_up_to(i + 1);
  }
  exchange_up_to(pushed.size());
  if (!are_same) pull_parts(pulled, priority);
}

void RemoteStore::row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids,
                                  int priority) {
  session_.raise_failure();
  check(items.size() == row_ids.size(), ErrorKind::kValue,
        "kvstore row_sparse_pull: expected row_ids for each of {} keys, got them for {}", items.size(), row_ids.size());
  const PriorityScope scope(Priority::kHigh, priority);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::vector<Part> part = entries_.parts_of("row_sparse_pull", items.subspan(i, 1));
    check(row_ids[i].size() == 1 || row_ids[i].size() == items[i].arrays.size(), ErrorKind::kValue,
          "kvstore row_sparse_pull: key {}: expected one array of row_ids or one for each of {} arrays, got {}",
          to_string(items[i].key), items[i].arrays.size(), row_ids[i].size());
    check(remote_of(part[0]).shards.size() == 1, ErrorKind::kRuntime,
          "kvstore row_sparse_pull: key {} was inited with a dense array, and lies on several servers; init it with a "
          "row_sparse one",
          to_string(items[i].key));
    NDArray rows;
    for (size_t k = 0; k < items[i].arrays.size(); ++k) {
      if (k < row_ids[i].size()) {
        const std::vector<int64_t> asked =
            copied_to(cast_to(row_ids[i][k].detach(), DType::kInt64), Device{}).to_vector<int64_t>();
        const std::set<int64_t> distinct(asked.begin(), asked.end());
        const std::vector<int64_t> numbers(distinct.begin(), distinct.end());
        rows = receive_rows(part[0], &numbers);
      }
      copy_into(items[i].arrays[k].detach(), rows);
    }
  }
}

}  // namespace headrace::distributed
