// A job whose scheduler, servers and workers are threads of one process.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "distributed/channel.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/remote_store.h"
#include "distributed/scheduler.h"
#include "distributed/server.h"
#include "headrace/error.hpp"
#include "op/invoke.h"

namespace headrace::distributed {

// A port that was free a moment ago: below those that the system gives to outgoing connections, one of which could have
// it before the scheduler does.
inline int free_port() {
  constexpr int kFirst = 10'000, kUsualEnd = 32'768;
  int end = kUsualEnd;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> end;
  std::random_device random;
  for (;;) {
    int port = end > kFirst ? std::uniform_int_distribution(kFirst, end - 1)(random) : 0;
    try {
      Server::Service service;
      serve_at({.role = Role::kScheduler}, "127.0.0.1", port, service);
      return port;
    } catch (const Error&) {  // somebody has it
    }
  }
}

// What a call raises; empty: nothing.
inline std::string reason_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// Servers whose optimizer subtracts what is pushed, times its learning rate: the settings, a number as text.
class Descent final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int head, const std::string& body) override {
    ++commands;
    if (head == kAsk) return "you said " + body;
    if (body == "fail") throw Error(ErrorKind::kValue, "the server was told to fail");
    if (head < 0)
      rate_ = std::stod(body);
    else
      store.set_updater([this](std::span<const kvstore::Update> updates) {
        for (const kvstore::Update& one : updates)
          copy_into(one.stored,
                    call("elemwise_sub", {one.stored, call("_mul_scalar", {one.reduced}, {{"scalar", rate_}})}));
      });
    return {};
  }

  static constexpr int kAsk = 8;

  std::atomic<int> commands{0};

 private:
  double rate_ = 1;
};

class ClusterTest : public testing::Test {
 protected:
  using Work = std::function<void(kvstore::KVStore& store)>;

  // Runs `work` in each of the workers with a store of its own.
  void run(int workers, int servers, bool asynchronous, const Work& work) {
    run(workers, servers, kvstore::Sharing{.asynchronous = asynchronous}, work);
  }
  void run(int workers, int servers, const kvstore::Sharing& sharing, const Work& work) {
    run(workers, servers, sharing, program_, work);
  }
  void run(int workers, int servers, const kvstore::Sharing& sharing, ServerProgram& program, const Work& work) {
    run_sessions(workers, servers, sharing.asynchronous, program, [&](Session& session) {
      RemoteStore store(sharing.asynchronous ? "dist_async" : "dist_sync", sharing, kvstore::make_host_communicator(),
                        session);
      work(store);
    });
  }
  // The same without stores.
  void run_sessions(int workers, int servers, bool asynchronous, ServerProgram& program,
                    const std::function<void(Session& session)>& work) {
    Job job{.host = "127.0.0.1",
            .port = free_port(),
            .workers = workers,
            .servers = servers,
            .replicas = replicas_,
            .own_host = "127.0.0.1",
            .shares_memory = shares_memory_,
            .elastic = elastic_,
            .asynchronous = asynchronous,
            .limits = limits_,
            .verbosity = verbosity_};
    const int port = to_scheduler_(job.port);
    joining_ = job;
    joining_.role = Role::kWorker;
    joining_.joins = true;
    joining_.port = port;
    const auto as = [&](Role role, int rank = -1) {
      Job own = job;
      if (role != Role::kScheduler) own.port = port;
      own.role = role;
      own.rank = rank;
      return own;
    };
    std::vector<std::thread> threads;
    const auto start = [&](auto&& body) {
      threads.emplace_back([body] {
        try {
          body();
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    };
    start([own = as(Role::kScheduler)] { run_scheduler(own); });
    for (int i = 0; i < servers * replicas_; ++i)
      start([this, &program, i, own = as(Role::kServer)] { serve_(i, own, program); });
    for (int i = 0; i < workers; ++i)
      start([this, &work, own = as(Role::kWorker, i)] {
        Session session(own, route_);
        EXPECT_EQ(session.rank(), own.rank);
        work(session);
      });
    for (std::thread& thread : threads) thread.join();
  }

  static NDArray filled(const Shape& shape, double value) { return full(shape, value, DType::kFloat32, {}); }
  static std::vector<float> pulled(kvstore::KVStore& store, const kvstore::Key& key, const Shape& shape) {
    const NDArray out = NDArray::empty(shape);
    store.pull(key, {out});
    return out.to_vector<float>();
  }

  Descent program_;
  bool shares_memory_ = true;
  Limits limits_;
  Verbosity verbosity_ = Verbosity::kQuiet;
  int replicas_ = 1;
  Elastic elastic_;
  Job joining_;  // of a worker that joins the job that runs
  // What a process of a server does.
  std::function<void(int number, const Job&, ServerProgram&)> serve_ = [](int, const Job& job, ServerProgram& program) {
    run_server(job, program);
  };
  Session::Route route_ = std::identity();                       // of the workers to the servers
  std::function<int(int port)> to_scheduler_ = std::identity();  // port at which nodes reach it
};

}  // namespace headrace::distributed
