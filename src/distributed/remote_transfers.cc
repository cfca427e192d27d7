// RemoteStore: arrays on their way.

#include <algorithm>
#include <set>

#include "base/check.h"
#include "distributed/messages.h"
#include "distributed/remote_store.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::distributed {

using kvstore::Item;
using kvstore::Part;
using kvstore::to_string;

namespace {

constexpr double kNsPerByte = 0.2;  // of copying elements into a message

}  // namespace

// --- push ------------------------------------------------------------------------------------------------------------

// A task that puts a shard of an array into a message and sends it.
struct RemoteStore::Sending {
  Session& session;
  std::shared_ptr<Var> order;
  ViewPtr value;
  Shard bytes;  // of its memory
  std::shared_ptr<PushRequest> request;
  std::shared_ptr<void> announced;

  void operator()() {
    const char* const data = value->size() > 0 ? value->data() : nullptr;
    request->mutable_value()->set_elements(data + bytes.begin, static_cast<size_t>(bytes.end - bytes.begin));
    session.send(bytes.server, std::move(request));
  }
};

// The sum of what this worker pushes, in host memory and the dtype of its key.
NDArray RemoteStore::summed(const Part& part) const {
  const DType dtype = part.entry().dtype;
  std::vector<NDArray> values;
  for (const NDArray& array : part.arrays) values.push_back(cast_to(array, dtype));
  if (values.size() == 1) return on_host(values[0]);
  const NDArray sum = NDArray::empty(values[0].shape(), dtype, devices_->home(values, {}));
  devices_->reduce(kvstore::Reduction(), values, sum);
  return on_host(sum);
}

PushRequest RemoteStore::push_request(const Part& part, Remote& remote) const {
  PushRequest request;
  set_place(part.key(), *request.mutable_place());
  request.set_round(remote.pushes);
  request.set_settings(settings_);
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
    auto request = std::make_shared<PushRequest>(push_request(part, remote));
    if (compression_) request->set_threshold(static_cast<float>(compression_->threshold));
    set_type(remote.shards.size() == 1 ? shape : Shape{shard.end - shard.begin}, part.entry().dtype,
             *request->mutable_value());
    const auto place = [&](int64_t element) { return (element + elements_per_byte - 1) / elements_per_byte * item; };
    const Shard bytes{shard.server, place(shard.begin), place(shard.end)};
    Var* const read = &value.view()->storage()->var();
    Var* const written = remote.order.get();
    const auto count = static_cast<double>(bytes.end - bytes.begin);
    runtime().engine.push(
        TaskSpec{.name = "kvstore send",
                 .reads = {&read, 1},
                 .writes = {&written, 1},
                 .cost_ns = Engine::kInlineCostNs + kNsPerByte * count,
                 .priority = Priority::kHigh,
                 .urgency = priority,
                 .bytes = count},
        Sending{session_, remote.order, value.view(), bytes, std::move(request), session_.announce()});
  }
  ++remote.pushes;
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
        "init the key with a row_sparse array",
        to_string(part.key()), sum.size(), remote.shards.size());
  auto request = std::make_shared<PushRequest>(push_request(part, remote));
  set_array(sum, *request->mutable_value());
  session_.send(remote.shards[0].server, std::move(request));
  ++remote.pushes;
}

void RemoteStore::push(std::span<const Item> items, int priority) {
  session_.raise_failure();
  std::vector<Part> parts = entries_.parts_of("push", items);
  for (const Part& part : parts)
    check(!compression_ || part.entry().dtype == DType::kFloat32, ErrorKind::kType,
          "kvstore push: key {}: gradient compression is for float32, got {}", to_string(part.key()),
          dtype_name(part.entry().dtype));
  const PriorityScope scope(Priority::kHigh, priority);
  for (const Part& part : parts) {
    const auto is_dense = [](const NDArray& array) { return array.storage_kind() == StorageKind::kDense; };
    if (std::ranges::all_of(part.arrays, is_dense))
      push_dense(part, summed(part), priority);
    else
      push_rows(part);
  }
}

// --- pull ------------------------------------------------------------------------------------------------------------

// A task that asks the servers for an array and waits for it. Servers answer when others have pushed, so such tasks
// wait for pushes alone, and these for nobody.
struct RemoteStore::Receiving {
  Session& session;
  std::shared_ptr<Var> order;
  ViewPtr landing;
  std::vector<Session::Call<PullRequest, Array>> calls;
  std::shared_ptr<void> announced;

  void operator()() {
    if (!session.exchange(calls)) return;
    char* place = landing->size() > 0 ? landing->data() : nullptr;
    size_t left = static_cast<size_t>(landing->size()) * item_size(landing->dtype());
    for (const auto& call : calls) {
      const std::string& bytes = call.reply.elements();
      check(bytes.size() <= left, ErrorKind::kRuntime, "kvstore pull: {} bytes came more than the array has",
            bytes.size() - left);
      std::copy(bytes.begin(), bytes.end(), place);
      place += bytes.size();
      left -= bytes.size();
    }
    check(left == 0, ErrorKind::kRuntime, "kvstore pull: {} bytes of the array did not come", left);
  }
};

NDArray RemoteStore::receive(const Part& part, int priority) {
  Remote& remote = remote_of(part);
  const NDArray landing = NDArray::empty(part.entry().stored.shape(), part.entry().dtype);
  std::vector<Session::Call<PullRequest, Array>> calls;
  for (const Shard& shard : remote.shards) {
    auto& call = calls.emplace_back();
    call.server = shard.server;
    set_place(part.key(), *call.request.mutable_place());
    call.request.set_pushes(remote.pushes);
  }
  Var* const read = remote.order.get();
  Var* const written = &landing.view()->storage()->var();
  runtime().engine.push(TaskSpec{.name = "kvstore receive",
                                 .reads = {&read, 1},
                                 .writes = {&written, 1},
                                 .cost_ns = Engine::kInlineCostNs,
                                 .priority = Priority::kHigh,
                                 .urgency = priority,
                                 .fresh_writes = true,
                                 .may_block = true},
                        Receiving{session_, remote.order, landing.view(), std::move(calls), session_.announce()});
  return landing;
}

// The stored rows; `rows` null: all. Waits.
NDArray RemoteStore::receive_rows(const Part& part, const std::vector<int64_t>* rows) {
  Remote& remote = remote_of(part);
  std::vector<Session::Call<PullRequest, Array>> calls(1);
  calls[0].server = remote.shards[0].server;
  set_place(part.key(), *calls[0].request.mutable_place());
  calls[0].request.set_pushes(remote.pushes);
  calls[0].request.set_only_rows(rows != nullptr);
  if (rows) calls[0].request.mutable_rows()->Assign(rows->begin(), rows->end());
  if (!session_.exchange(calls)) return part.entry().stored;
  return array_of(calls[0].reply);
}

void RemoteStore::pull(std::span<const Item> items, int priority) {
  session_.raise_failure();
  const std::vector<Part> parts = entries_.parts_of("pull", items);
  const PriorityScope scope(Priority::kHigh, priority);
  for (const Part& part : parts) {
    const NDArray landing = remote_of(part).sparse ? receive_rows(part, nullptr) : receive(part, priority);
    for (const NDArray& out : part.arrays) copy_into(out, landing);
  }
}

void RemoteStore::pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) {
  push(values, priority);
  pull(outs, priority);
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
