// Nodes whose connection to the scheduler breaks: they come back, or all are told.
#include "distributed/membership.h"

#include <gmock/gmock.h>

#include <future>
#include <map>

#include "tests/distributed/cluster.h"
#include "tests/distributed/ears.h"
#include "tests/distributed/proxy.h"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;

// A job of two workers; the second reaches the scheduler through a proxy.
class MembershipTest : public testing::Test {
 protected:
  explicit MembershipTest(int silence_ms = 20'000, int retry_ms = 60'000)
      : job_{.role = Role::kWorker,
             .host = "127.0.0.1",
             .port = free_port(),
             .workers = 2,
             .own_host = "127.0.0.1",
             .silence_ms = silence_ms,
             .retry_ms = retry_ms},
        scheduler_([this] { run_scheduler(job_); }),
        proxy_(address_of("127.0.0.1", job_.port)) {
    auto second = std::async(std::launch::async, [this] { return join(1); });
    workers_[0] = join(0);
    workers_[1] = second.get();
  }
  ~MembershipTest() override {
    workers_[1].reset();
    workers_[0].reset();
    scheduler_.join();
  }

  std::unique_ptr<Membership> join(int rank) {
    Job own = job_;
    own.rank = rank;
    if (rank == 1) own.port = std::stoi(proxy_.address().substr(proxy_.address().rfind(':') + 1));
    return std::make_unique<Membership>(own, "", ears_[rank].observer());
  }

  const Job job_;
  Ears ears_[2];
  std::thread scheduler_;
  Proxy proxy_;
  std::unique_ptr<Membership> workers_[2];
};

TEST_F(MembershipTest, WhoWaitsAtABarrierComesAgain) {
  for (int i = 0; i < 5; ++i) {
    auto waiting = std::async(std::launch::async, [this] { workers_[1]->barrier(); });
    for (int cut = 0; cut < i; ++cut) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
      proxy_.cut();
    }
    EXPECT_NE(waiting.wait_for(std::chrono::milliseconds(1)), std::future_status::ready);
    workers_[0]->barrier();
    waiting.get();
  }
  EXPECT_EQ(workers_[0]->lost_workers(), 0);
  EXPECT_THAT(ears_[0].all(), IsEmpty());
}

TEST_F(MembershipTest, WhatHappensMeanwhileIsToldOnce) {
  proxy_.refuse(true);
  workers_[0].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(ears_[1].all(), IsEmpty());
  proxy_.refuse(false);
  ears_[1].await("worker 0 has ended");
  for (int i = 0; i < 3; ++i) {
    proxy_.cut();
    EXPECT_THAT(reason_of([this] { workers_[1]->barrier(); }), HasSubstr("worker 0 has ended"));
  }
  EXPECT_THAT(ears_[1].all(), ElementsAre("worker 0 has ended"));
}

class ShortSilence : public MembershipTest {
 protected:
  ShortSilence() : MembershipTest(600) {}
};

TEST_F(ShortSilence, WhoStaysAwayIsLostAndRefusedLater) {
  proxy_.refuse(true);
  ears_[0].await("worker 1 was lost");
  EXPECT_EQ(workers_[0]->lost_workers(), 1);
  EXPECT_THAT(reason_of([this] { workers_[0]->barrier(); }), HasSubstr("worker 1 was lost"));
  proxy_.refuse(false);
  EXPECT_THAT(ears_[1].await("worker 1"), HasSubstr("was given up: the scheduler had heard nothing from it"));
}

class ShortRetries : public MembershipTest {
 protected:
  ShortRetries() : MembershipTest(2'000, 300) {}
};

TEST_F(ShortRetries, ASchedulerThatCannotBeReachedIsNamed) {
  auto waiting = std::async(std::launch::async, [this] { return reason_of([this] { workers_[1]->barrier(); }); });
  proxy_.refuse(true);
  const auto names_it = AllOf(HasSubstr("the scheduler was lost: it cannot be reached at " + proxy_.address()),
                              HasSubstr("for 0.3 seconds"), HasSubstr("HEADRACE_RETRY_SECONDS"));
  EXPECT_THAT(waiting.get(), names_it);
  ears_[1].await("the scheduler was lost");
  EXPECT_THAT(ears_[1].all(), Contains(names_it));
  EXPECT_THAT(reason_of([this] { workers_[1]->barrier(); }), names_it);
  proxy_.refuse(false);
}

class LongRetries : public MembershipTest {
 protected:
  LongRetries() : MembershipTest(2'000, 3'000) {}
};

TEST_F(LongRetries, AreSaidOnce) {
  testing::internal::CaptureStderr();
  proxy_.refuse(true);
  ears_[1].await("the scheduler was lost");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::ContainsRegex("warn: distributed: worker 1: the scheduler cannot be reached at " +
                                           proxy_.address() + " .*; it is tried for [0-9.]+ seconds more"));
  EXPECT_EQ(said.find("cannot be reached"), said.rfind("cannot be reached"));
  proxy_.refuse(false);
}

// One process after the other ends, and others come.
TEST(Replicas, TakeThePlacesOfOthers) {
  Job job{.role = Role::kServer,
          .host = "127.0.0.1",
          .port = free_port(),
          .workers = 1,
          .servers = 1,
          .replicas = 2,
          .silence_ms = 200};
  std::thread scheduler([&] { run_scheduler(job); });
  Ears ears;
  std::map<std::string, std::unique_ptr<Membership>> servers;
  const auto join = [&](const std::string& name) { return std::make_unique<Membership>(job, name, Observer()); };
  auto first = std::async(std::launch::async, join, "a:1"), second = std::async(std::launch::async, join, "b:1");
  Job of_worker = job;
  of_worker.role = Role::kWorker;
  auto worker = std::make_unique<Membership>(of_worker, "", ears.observer());
  servers["a:1"] = first.get();
  servers["b:1"] = second.get();
  ASSERT_EQ(worker->servers().size(), 1U);
  const std::string primary = worker->servers()[0].address(), backup = worker->servers()[0].backup();
  EXPECT_EQ(primary, "a:1");  // in the order of their machines
  EXPECT_EQ(backup, "b:1");
  servers.erase(primary);
  ears.await("b:1 serves in epoch 2, nobody stands by");
  servers["c:1"] = join("c:1");
  ears.await("b:1 serves in epoch 2, c:1 stands by");
  servers["b:1"]->tell_copied("c:1");
  ears.await("b:1 serves in epoch 2, c:1 stands by with all");
  servers.erase("b:1");
  ears.await("c:1 serves in epoch 3, nobody stands by");
  servers["d:1"] = join("d:1");
  ears.await("c:1 serves in epoch 3, d:1 stands by");
  EXPECT_THAT(reason_of([&] { join("e:1"); }), HasSubstr("all nodes of the job are there already"));
  servers.erase("c:1");  // before the other has all
  ears.await("server 0 was lost");
  worker.reset();
  servers.clear();
  scheduler.join();
}

// Nodes join, meet and end while the proxy cuts what they say to the scheduler.
TEST_F(ClusterTest, WorksThoughConnectionsToTheSchedulerBreak) {
  constexpr int kWorkers = 3, kRounds = 40;
  std::unique_ptr<Proxy> proxy;
  to_scheduler_ = [&](int port) {
    proxy = std::make_unique<Proxy>(address_of("127.0.0.1", port), 5, 40, 1500);
    return std::stoi(proxy->address().substr(proxy->address().rfind(':') + 1));
  };
  std::atomic<int> came{0};
  run(kWorkers, 2, false, [&](kvstore::KVStore& store) {
    store.init("w", filled({4}, 0));
    for (int round = 1; round <= kRounds; ++round) {
      ++came;
      store.barrier();
      EXPECT_THAT(came.load(), Ge(kWorkers * round));
      store.push("w", {filled({4}, round)});
      EXPECT_THAT(pulled(store, "w", {4}), testing::Each(kWorkers * round));
    }
  });
  EXPECT_THAT(proxy->cuts(), Ge(10));
}

}  // namespace
}  // namespace headrace::distributed
