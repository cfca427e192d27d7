// A gathering that goes on with what another one has kept.
#include "distributed/gathering.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::IsEmpty;

// What a node hears on its streams.
class Ear final : public Listener {
 public:
  void tell(Notice notice) override {
    std::lock_guard guard(mutex_);
    if (!notice.has_welcome()) heard_.push_back(std::move(notice));
    changed_.notify_all();
  }
  void finish(const grpc::Status& status) override {
    std::lock_guard guard(mutex_);
    end_ = status;
    changed_.notify_all();
  }
  // What has come when that are so many.
  std::vector<Notice> heard(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heard_.size() >= count; });
    return heard_;
  }
  grpc::Status end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return end_.has_value(); });
    return *end_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Notice> heard_;
  std::optional<grpc::Status> end_;
};

// Keeps, and waits where it is told to.
class Memory final : public Keeper {
 public:
  bool keep(const Kept& kept) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_held_; });
    if (!is_leader_) return false;
    kept_ = kept;
    return true;
  }
  void hold(bool is_so) { set(is_held_, is_so); }
  void lead(bool is_so) { set(is_leader_, is_so); }
  Kept kept() {
    std::lock_guard guard(mutex_);
    return kept_;
  }

 private:
  void set(bool& what, bool is_so) {
    std::lock_guard guard(mutex_);
    what = is_so;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false, is_leader_ = true;
  Kept kept_;
};

// One worker, and one server of two processes, which are away as soon as their streams break.
class GatheringTest : public testing::Test {
 protected:
  // A gathering that runs, and its end.
  struct Running {
    Running(const Job& job, const Kept& kept, Memory& memory)
        : gathering(job, kept, memory), end(std::async(std::launch::async, [this] { return gathering.await_end(); })) {}
    ~Running() {
      gathering.abandon();
      if (end.valid()) end.wait();
    }
    Gathering gathering;
    std::future<bool> end;
  };

  static Node node(NodeRole role, uint64_t token, const std::string& address = {}, uint32_t heard = 0) {
    Node node;
    node.set_role(role);
    node.set_rank(role == WORKER ? 0 : -1);
    node.set_token(token);
    node.set_address(address);
    node.set_version(HEADRACE_VERSION);
    node.set_workers(1);
    node.set_servers(1);
    node.set_replicas(2);
    node.set_heard(heard);
    return node;
  }
  static Node worker(uint32_t heard = 0) { return node(WORKER, 1, {}, heard); }
  static Node first(uint32_t heard = 0) { return node(SERVER, 2, "a:1", heard); }
  static Node second(uint32_t heard = 0) { return node(SERVER, 3, "b:1", heard); }
  static Node third(uint32_t heard = 0) { return node(SERVER, 4, "c:1", heard); }

  void begin(Gathering& gathering) {
    gathering.enter(ears_[0], worker());
    gathering.enter(ears_[1], first());
    gathering.enter(ears_[2], second());
    for (Ear& one : ears_) one.heard(1);
  }

  const Job job_{.role = Role::kScheduler, .workers = 1, .servers = 1, .replicas = 2, .silence_ms = 100};
  Memory memory_;
  Ear ears_[3];
};

TEST_F(GatheringTest, AnotherOneTellsWhatNodesHaveNotHeard) {
  {
    Ear of_third;
    Running running(job_, {}, memory_);
    begin(running.gathering);
    running.gathering.leave(ears_[1]);  // and does not come back
    const Serving told = ears_[0].heard(2)[1].serving();
    EXPECT_EQ(told.address(), "b:1");
    EXPECT_EQ(told.epoch(), 2);
    running.gathering.enter(of_third, third());
    const Cluster cluster = of_third.heard(1)[0].cluster();
    EXPECT_EQ(cluster.servers(0).address(), "b:1");
    EXPECT_EQ(cluster.servers(0).backup(), "c:1");
    EXPECT_EQ(ears_[0].heard(3)[2].serving().backup(), "c:1");
  }
  Ear of_worker, of_second, of_third, of_first;
  Running running(job_, memory_.kept(), memory_);
  running.gathering.enter(of_worker, worker(2));
  EXPECT_EQ(of_worker.heard(1)[0].serving().backup(), "c:1");
  running.gathering.enter(of_second, second(0));  // has heard nothing
  const std::vector<Notice> all = of_second.heard(3);
  EXPECT_EQ(all[0].cluster().servers(0).address(), "a:1");
  EXPECT_EQ(all[0].cluster().incarnation(), ears_[2].heard(1)[0].cluster().incarnation());
  EXPECT_EQ(all[1].serving().epoch(), 2);
  EXPECT_EQ(all[2].serving().backup(), "c:1");
  running.gathering.enter(of_third, third(0));
  EXPECT_EQ(of_third.heard(1)[0].cluster().servers(0).backup(), "c:1");
  running.gathering.enter(of_first, first(1));
  EXPECT_THAT(of_first.heard(1)[0].refusal(), testing::HasSubstr("server 0 was given up"));
  Copied copied;  // what was decided before goes on
  copied.set_token(3);
  copied.set_backup("c:1");
  running.gathering.take_copied(copied);
  EXPECT_TRUE(of_worker.heard(2)[1].serving().is_backed());
  running.gathering.leave(of_second);
  EXPECT_EQ(of_worker.heard(3)[2].serving().address(), "c:1");
  EXPECT_EQ(of_worker.heard(3)[2].serving().epoch(), 3);
}

TEST_F(GatheringTest, NobodyIsToldWhatIsNotKept) {
  Ear late;
  Running running(job_, {}, memory_);
  begin(running.gathering);
  memory_.hold(true);
  running.gathering.leave(ears_[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(ears_[0].heard(1).size(), 1U);
  memory_.lead(false);
  memory_.hold(false);
  EXPECT_FALSE(running.end.get());
  EXPECT_EQ(ears_[0].end().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ears_[0].heard(1).size(), 1U);
  running.gathering.enter(late, worker(1));
  EXPECT_EQ(late.end().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(late.heard(0), IsEmpty());
}

TEST_F(GatheringTest, ADepartureThatNoSchedulerHasSeenIsNoticed) {
  {
    Running running(job_, {}, memory_);
    begin(running.gathering);
  }
  Ear of_worker;
  Running running(job_, memory_.kept(), memory_);
  running.gathering.enter(of_worker, worker(1));
  const std::vector<Notice> told = of_worker.heard(2);  // both processes of the server stay away
  EXPECT_EQ(told[0].serving().epoch(), 2);
  EXPECT_EQ(told[1].departure().role(), SERVER);
  EXPECT_TRUE(told[1].departure().lost());
}

// Two servers of two processes each, and one worker.
class TwoServers : public GatheringTest {
 protected:
  static Node of_two(Node one) {
    one.set_servers(2);
    return one;
  }
  const Job two_{.role = Role::kScheduler, .workers = 1, .servers = 2, .replicas = 2};
};

// Nobody could serve in their place.
TEST_F(TwoServers, ProcessesOfOneServerAreAwayTogetherForLongerThanOneAlone) {
  Ear of_servers[4], again[4];
  Running running(two_, {}, memory_);
  const auto server = [&](size_t i) {
    return of_two(node(SERVER, 2 + i, std::string(1, static_cast<char>('a' + i)) + ":1"));
  };
  running.gathering.enter(ears_[0], of_two(worker()));
  for (size_t i = 0; i < 4; ++i) running.gathering.enter(of_servers[i], server(i));
  const Cluster cluster = ears_[0].heard(1)[0].cluster();
  const auto number_of = [](const std::string& address) { return static_cast<size_t>(address[0] - 'a'); };
  const size_t both[] = {number_of(cluster.servers(1).address()), number_of(cluster.servers(1).backup())};
  for (const size_t i : both) running.gathering.leave(of_servers[i]);
  running.gathering.leave(of_servers[number_of(cluster.servers(0).address())]);
  const Serving told = ears_[0].heard(2)[1].serving();
  EXPECT_EQ(told.server(), 0);
  EXPECT_EQ(told.address(), cluster.servers(0).backup());
  for (const size_t i : both) {
    running.gathering.enter(again[i], server(i));
    EXPECT_TRUE(again[i].heard(1)[0].has_cluster());
  }
  EXPECT_EQ(ears_[0].heard(2).size(), 2U);
}

// Keeps the last word about the crowd alone.
class CrowdEar final : public Listener {
 public:
  void tell(Notice notice) override {
    std::lock_guard guard(mutex_);
    if (notice.has_cluster()) rank_ = notice.cluster().rank();
    if (notice.has_crowd()) crowd_ = notice.crowd();
    changed_.notify_all();
  }
  void finish(const grpc::Status&) override {}
  void await(uint32_t workers, uint32_t lost) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return crowd_.workers() == workers && crowd_.lost() == lost; });
  }
  // When it has a place.
  uint32_t rank() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rank_.has_value(); });
    return *rank_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Crowd crowd_;
  std::optional<uint32_t> rank_;
};

class Crowded : public GatheringTest {
 protected:
  static constexpr uint32_t kMost = 1001;

  static Node joining(uint64_t token) {
    Node joining = node(WORKER, token);
    joining.set_rank(-1);
    joining.set_joins(true);
    joining.set_asynchronous(true);
    return joining;
  }
  static Node elastic(Node one) {
    one.set_replicas(1);
    one.set_least_workers(1);
    one.set_most_workers(kMost);
    one.set_asynchronous(true);
    return one;
  }

  const Job crowded_{.role = Role::kScheduler,
                     .workers = 1,
                     .servers = 1,
                     .silence_ms = 100,
                     .elastic = {1, kMost},
                     .asynchronous = true};
};

// Each of a thousand workers is lost, and another one takes its place.
TEST_F(Crowded, AThousandWorkersThatAllChange) {
  CrowdEar of_worker, of_server;
  std::vector<CrowdEar> ears(2 * (kMost - 1));
  Running running(crowded_, {}, memory_);
  running.gathering.enter(of_worker, elastic(worker()));
  running.gathering.enter(of_server, elastic(first()));
  for (uint32_t i = 0; i < kMost - 1; ++i) running.gathering.enter(ears[i], joining(100 + i));
  of_worker.await(kMost, 0);
  for (uint32_t i = 0; i < kMost - 1; ++i) running.gathering.leave(ears[i]);
  of_worker.await(1, kMost - 1);
  for (uint32_t i = kMost - 1; i < 2 * (kMost - 1); ++i) running.gathering.enter(ears[i], joining(100 + i));
  of_worker.await(kMost, 0);
  of_server.await(kMost, 0);
  EXPECT_EQ(ears.back().rank(), kMost - 1);
}

// A synchronous job of one worker, which begins anew when others would join: three in all.
class BeginsAnew : public testing::Test {
 protected:
  static Job job(int awaited) {
    return {.role = Role::kScheduler,
            .workers = 1,
            .servers = 1,
            .elastic = {1, 3},
            .begins_anew = true,
            .awaited = awaited};
  }
  static Node node(NodeRole role, uint64_t token) {
    Node node;
    node.set_role(role);
    node.set_rank(-1);
    node.set_token(token);
    node.set_version(HEADRACE_VERSION);
    node.set_workers(1);
    node.set_servers(1);
    node.set_replicas(1);
    node.set_least_workers(1);
    node.set_most_workers(3);
    return node;
  }
  static Node joining(uint64_t token) {
    Node node;
    node.set_role(WORKER);
    node.set_rank(-1);
    node.set_token(token);
    node.set_version(HEADRACE_VERSION);
    node.set_joins(true);
    return node;
  }
};

TEST_F(BeginsAnew, WhoWouldJoinComesAgain) {
  const Job own = job(0);
  Ear worker, server, asking[3], refused;
  Gathering gathering(own);
  gathering.enter(worker, node(WORKER, 1));
  gathering.enter(server, node(SERVER, 2));
  EXPECT_EQ(worker.heard(1)[0].cluster().workers(), 1U);
  const uint64_t tokens[] = {3, 4, 3};
  for (int i = 0; i < 3; ++i) {
    gathering.enter(asking[i], joining(tokens[i]));
    EXPECT_EQ(asking[i].end().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  gathering.enter(refused, joining(5));
  EXPECT_THAT(refused.heard(1)[0].refusal(), testing::HasSubstr("the job has 3 workers, as many as it may have"));
  EXPECT_EQ(worker.heard(1).size(), 1U);
}

TEST_F(BeginsAnew, WithThoseThatHaveAsked) {
  const Job own = job(1);
  Ear worker, server, other;
  Gathering gathering(own);
  gathering.enter(worker, node(WORKER, 1));
  gathering.enter(server, node(SERVER, 2));
  EXPECT_THAT(worker.heard(0), IsEmpty());
  gathering.enter(other, joining(3));
  for (Ear* const one : {&worker, &server, &other}) EXPECT_EQ(one->heard(1)[0].cluster().workers(), 2U);
  EXPECT_EQ(other.heard(1)[0].cluster().rank(), 1U);
}

// Two workers and a server: what is wrong with a node is told to it alone, and the others begin without it.
class Refuses : public testing::Test {
 protected:
  static Node node(NodeRole role, uint64_t token, int rank = -1) {
    Node node;
    node.set_role(role);
    node.set_token(token);
    node.set_rank(rank);
    node.set_version(HEADRACE_VERSION);
    node.set_workers(2);
    node.set_servers(1);
    node.set_replicas(1);
    return node;
  }

  void expect_refusal(const Node& wrong, const std::string& reason) {
    gathering_.enter(first_, node(WORKER, 1, 1));
    gathering_.enter(refused_, wrong);
    EXPECT_EQ(refused_.heard(1)[0].refusal(), reason);
    EXPECT_TRUE(refused_.end().ok());
    gathering_.leave(refused_);
    gathering_.enter(second_, node(WORKER, 3, 0));
    gathering_.enter(server_, node(SERVER, 4));
    EXPECT_EQ(first_.heard(1)[0].cluster().rank(), 1U);
    EXPECT_EQ(second_.heard(1)[0].cluster().rank(), 0U);
  }

  const Job job_{.role = Role::kScheduler, .workers = 2, .servers = 1};
  Ear first_, second_, server_, refused_;
  Gathering gathering_{job_};
};

TEST_F(Refuses, TheRankOfAnother) {
  expect_refusal(node(WORKER, 2, 1), "rank 1 of 2 workers is asked for twice; DMLC_WORKER_ID differs between workers");
}

TEST_F(Refuses, AServerThatWouldJoin) {
  Node joining = node(SERVER, 2);
  joining.set_joins(true);
  expect_refusal(joining, "only workers join a job that has begun");
}

TEST_F(Refuses, ARoleThatNoNodeHas) {
  Node strange = node(static_cast<NodeRole>(7), 2);
  expect_refusal(strange, "nobody sits down here as 7; the nodes of a job are workers and servers");
}

TEST_F(Refuses, AWorkerOfAnotherVersion) {
  Node old = node(WORKER, 2, 0);
  old.set_version("0.0.9");
  expect_refusal(old, "the worker is Headrace 0.0.9, the scheduler " HEADRACE_VERSION "; use one version");
}

TEST_F(Refuses, AServerOfAnotherVersion) {
  Node old = node(SERVER, 2);
  old.set_version({});
  expect_refusal(old, "the server is Headrace , the scheduler " HEADRACE_VERSION "; use one version");
}

// The reason why a job does not begin.
std::string reason_why(Gathering& gathering) {
  try {
    gathering.await_end(std::chrono::milliseconds(1));
  } catch (const Error& error) {
    return error.what();
  }
  return "it has begun";
}

TEST(Gathering, NamesWorkersThatHaveNotCome) {
  const Job job{.role = Role::kScheduler, .workers = 3, .servers = 1};
  Node node;
  node.set_role(WORKER);
  node.set_version(HEADRACE_VERSION);
  node.set_workers(3);
  node.set_servers(1);
  node.set_replicas(1);
  for (const int rank : {1, -1}) {
    Ear worker;
    Gathering gathering(job);
    node.set_token(static_cast<uint64_t>(2 + rank));
    node.set_rank(rank);
    gathering.enter(worker, node);
    auto reason = std::async(std::launch::async, [&gathering] { return reason_why(gathering); });
    EXPECT_TRUE(worker.end().ok());
    gathering.leave(worker);
    EXPECT_EQ(
        reason.get(),
        std::string("distributed: the job cannot begin: after 0.001 seconds 1 of 3 workers and 0 of 1 servers are "
                    "there") +
            (rank < 0 ? ""
                      : "; without workers 0, 2: did they end, or make no store and no exchange? All "
                        "workers run one program"));
  }
}

}  // namespace
}  // namespace headrace::distributed
