// How long a worker waits for a server that has one number to add, beside a message of gRPC alone and its answer. Both
// ends are in this process. With HEADRACE_CERTIFICATES, a folder as the launcher makes it, all of them encrypt.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "benchmarks/distributed/echo.h"
#include "distributed/channel.h"
#include "distributed/messages.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/remote_store.h"
#include "distributed/scheduler.h"
#include "distributed/server.h"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

constexpr int kElements = 4;

std::string certificates() {
  const char* const folder = std::getenv("HEADRACE_CERTIFICATES");
  return folder ? folder : "";
}

std::shared_ptr<grpc::ServerCredentials> server_credentials() {
  const std::string folder = certificates();
  if (folder.empty()) return grpc::InsecureServerCredentials();
  const auto content = [&](const char* name) {
    std::ifstream file(folder + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = content("ca.pem");
  options.pem_key_cert_pairs.push_back({content("key.pem"), content("cert.pem")});
  return grpc::SslServerCredentials(options);
}

void grpc_round_trip(benchmark::State& state) {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("headrace");
  benchmarks::EchoStream stream(server_credentials(), credentials_of(certificates()), arguments);
  const std::string bytes(100, 'x');
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer message(&slice, 1);
  for (auto _ : state) stream.ask(message);
}
BENCHMARK(grpc_round_trip)->UseRealTime();

// Subtracts what is pushed.
class Descent final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int, const std::string&) override {
    store.set_updater([](std::span<const kvstore::Update> updates) {
      for (const kvstore::Update& one : updates) copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
    });
    return {};
  }
};

// One worker and one server.
class Cluster {
 public:
  explicit Cluster(bool asynchronous) {
    Job job{.role = Role::kScheduler,
            .host = "127.0.0.1",
            .workers = 1,
            .servers = 1,
            .own_host = "127.0.0.1",
            .certificates = certificates(),
            .asynchronous = asynchronous};
    {
      Server::Service service;
      serve_at(job, job.host, job.port, service);
    }
    threads_.emplace_back([job] { run_scheduler(job); });
    job.role = Role::kServer;
    threads_.emplace_back([job, this] { run_server(job, program_); });
    job.role = Role::kWorker;
    session_.emplace(job);
    store_.emplace(asynchronous ? "dist_async" : "dist_sync", kvstore::Sharing{.asynchronous = asynchronous},
                   kvstore::make_host_communicator(), *session_);
    store().init(0, value);
    if (asynchronous) store_->send_command(0, "");
  }
  ~Cluster() {
    store_.reset();
    session_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  kvstore::KVStore& store() { return *store_; }
  Session& session() { return *session_; }

  const NDArray value = full({kElements}, 1, DType::kFloat32, {});

 private:
  Descent program_;
  std::vector<std::thread> threads_;
  std::optional<Session> session_;
  std::optional<RemoteStore> store_;
};

void push_acknowledged(benchmark::State& state) {
  Cluster cluster(state.range(0) == 1);
  uint64_t round = 0;
  for (auto _ : state) {
    std::vector<Session::Call> calls(1);
    calls[0].server = 0;
    PushRequest& push = *calls[0].request.mutable_push();
    set_key(0, *push.mutable_place()->mutable_key());
    push.mutable_place()->set_asynchronous(state.range(0) == 1);
    push.set_round(round++);
    set_type({kElements}, DType::kFloat32, *push.mutable_value());
    calls[0].load = load_for(cluster.session(), 0, cluster.value, 0, kElements * sizeof(float));
    cluster.session().exchange("push", calls);
  }
}
BENCHMARK(push_acknowledged)->ArgName("asynchronous")->Arg(0)->Arg(1)->UseRealTime();

void push_and_pull(benchmark::State& state) {
  Cluster cluster(state.range(0) == 1);
  const NDArray out = NDArray::empty({kElements});
  for (auto _ : state) {
    cluster.store().push(0, {cluster.value});
    cluster.store().pull(0, {out});
    out.wait_to_read();
  }
}
BENCHMARK(push_and_pull)->ArgName("asynchronous")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace headrace::distributed
