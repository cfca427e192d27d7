// What a server does with the requests of a worker, and a scheduler with a node: src/distributed/served_store.h,
// relay.h and gathering.h.
#include <google/protobuf/stubs/logging.h>

#include "distributed/gathering.h"
#include "distributed/relay.h"
#include "distributed/served_store.h"
#include "headrace/error.hpp"
#include "op/invoke.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

using namespace distributed;

constexpr int kWorkers = 2;

// Subtracts what is pushed.
class Subtracting final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int, const std::string& body) override {
    store.set_updater([](std::span<const kvstore::Update> updates) {
      for (const kvstore::Update& one : updates) copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
    });
    return body;
  }
};

class Served {
 public:
  explicit Served(bool asynchronous) {
    Place place;
    place.set_asynchronous(asynchronous);
    store_.emplace(
        place, kWorkers, false, program_, holdings_, [](const std::function<void()>& job) { job(); }, nullptr);
  }
  ~Served() { store_->give_up("the server ends"); }

  // As the server's thread does it.
  void serve(Request& request, const Elements& elements) {
    const Asker asker(client_, 1, request.number());
    switch (request.what_case()) {
      case Request::kInit:
        return store_->init(request.init(), elements, asker);
      case Request::kPush:
        return store_->push(request.push(), elements, asker);
      case Request::kPull:
        return store_->pull(std::move(*request.mutable_pull()), asker);
      case Request::kCommand:
        return store_->command(request.command(), asker);
      case Request::kOutcome:
        store_->take_outcome(std::move(*request.mutable_outcome()), elements);
        return store_->settle();
      case Request::kTransfer:
        return relay_.take(0, request.transfer(), elements, &asker);
      default:
        return;
    }
  }
  void depart() {
    const Departed gone{Role::kWorker, 1, true, 1};
    store_->depart(gone);
    relay_.depart(gone);
  }

 private:
  const std::shared_ptr<Client> client_ = std::make_shared<Client>(0, nullptr);
  Subtracting program_;
  Holdings holdings_{{.held_bytes = size_t{1} << 20}};
  std::optional<ServedStore> store_;
  Relay relay_{kWorkers};
};

// Requests of a frame, one after the other; then a worker is lost for which some may wait.
void serve(std::string_view bytes, bool asynchronous) {
  Served served(asynchronous);
  const grpc::Slice slice(bytes.data(), bytes.size());
  accepts([&] {
    Frame head;
    Behind behind = read(grpc::ByteBuffer(&slice, 1), head);
    for (Request& one : *head.mutable_requests()) {
      const Array* const array = array_in(one);
      const Elements elements = array ? behind.take(array->bytes()) : Elements();
      accepts([&] { served.serve(one, elements); });
    }
  });
  accepts([&] { served.depart(); });
}

class Deaf final : public Listener {
 public:
  void tell(Notice) override {}
  void finish(const grpc::Status&) override {}
};

void enter(std::string_view bytes) {
  const google::protobuf::LogSilencer silencer;  // what is no UTF-8
  distributed::Node node;
  if (!node.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Deaf first, second;
  const Job job{.role = Role::kScheduler, .workers = 1, .servers = 1, .replicas = 2};
  Gathering gathering(job);
  gathering.enter(first, node);
  node.set_token(node.token() + 1);
  gathering.enter(second, node);
  gathering.leave(first);
  gathering.leave(second);
}

std::string text_of(const Frame& frame, const std::string& elements) {
  const grpc::Slice slice(elements);
  std::vector<grpc::Slice> pieces;
  written(frame, {slice}).Dump(&pieces);
  std::string text;
  for (const grpc::Slice& piece : pieces) text.append(reinterpret_cast<const char*>(piece.begin()), piece.size());
  return text;
}

void set_place(Place& place, uint32_t rank) {
  place.set_rank(rank);
  place.mutable_key()->set_text("w");
}

// Both workers init a key of four numbers, push and pull it.
std::string training(bool sparse, float threshold) {
  Frame frame;
  std::string elements;
  uint64_t number = 0;
  const auto add = [&]() -> Request& {
    Request& request = *frame.add_requests();
    request.set_number(++number);
    return request;
  };
  const auto fill = [&](Array& array, size_t bytes) {
    set_type({2, 2}, DType::kFloat32, array);
    array.set_sparse(sparse);
    if (sparse && bytes > 0)
      for (const int64_t row : {0, 1}) array.add_rows(row);
    array.set_bytes(bytes);
    elements.append(bytes, '\1');
  };
  add().mutable_command()->set_head(1);
  for (const uint32_t rank : {0U, 1U}) {
    InitRequest& init = *add().mutable_init();
    set_place(*init.mutable_place(), rank);
    fill(*init.mutable_value(), rank == 0 ? 16 : 0);
  }
  for (const uint32_t rank : {0U, 1U}) {
    PushRequest& push = *add().mutable_push();
    set_place(*push.mutable_place(), rank);
    push.set_threshold(threshold);
    fill(*push.mutable_value(), threshold > 0 ? 4 : 16);
  }
  PullRequest& pull = *add().mutable_pull();
  set_place(*pull.mutable_place(), 0);
  pull.set_pushes(1);
  pull.set_only_rows(sparse);
  if (sparse) pull.add_rows(1);
  CommandRequest& join = *add().mutable_command();
  set_place(*join.mutable_place(), 0);
  join.set_repeats(true);
  join.set_body("1");
  return text_of(frame, elements);
}

std::string outcome_and_transfer() {
  Frame frame;
  InitRequest& init = *frame.add_requests()->mutable_init();
  set_place(*init.mutable_place(), 0);
  set_type({2}, DType::kFloat32, *init.mutable_value());
  init.mutable_value()->set_bytes(8);
  Outcome& outcome = *frame.add_requests()->mutable_outcome();
  set_place(*outcome.mutable_place(), 0);
  set_type({2}, DType::kFloat32, *outcome.mutable_value());
  outcome.mutable_value()->set_bytes(8);
  outcome.set_is_last(true);
  outcome.set_closed(3);
  TransferRequest& transfer = *frame.add_requests()->mutable_transfer();
  transfer.mutable_value()->set_bytes(8);
  for (size_t lane = 0; lane < collective::kCommonLanes; ++lane) transfer.add_done(0);
  return text_of(frame, std::string(24, '\1'));
}

}  // namespace

std::vector<std::string> seeds() {
  distributed::Node node;
  node.set_role(SERVER);
  node.set_rank(-1);
  node.set_address("a:1");
  node.set_version(HEADRACE_VERSION);
  node.set_workers(1);
  node.set_servers(1);
  node.set_replicas(2);
  return {training(false, 0), training(true, 0), training(false, 0.5), outcome_and_transfer(),
          node.SerializeAsString()};
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::fuzz;
  for (const bool asynchronous : {false, true}) serve(text_of(data, size), asynchronous);
  enter(text_of(data, size));
  return 0;
}
