// Exchanges between workers through servers.
#include "distributed/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <mutex>

#include "collective/operations.h"
#include "distributed/commands.h"
#include "distributed/relay_wire.h"
#include "tests/distributed/cluster.h"
#include "tests/distributed/proxy.h"
#include "tests/support/brief_group.h"

namespace headrace::distributed {
namespace {

using collective::BriefGroup;
using collective::Fold;
using collective::Group;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kWorkers = 3, kServers = 2;

std::unique_ptr<collective::Wire> wire_of(Session& session) { return std::make_unique<RelayWire>(session); }

NDArray numbers(int rank, int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) + 7.0F * static_cast<float>(rank)) * static_cast<float>(1 + rank * rank);
  return NDArray::from(std::span<const float>(values), {size});
}

// From rank 0 on.
std::vector<float> sum_of_all(int64_t size) {
  std::vector<float> sum = numbers(0, size).to_vector<float>();
  for (int rank = 1; rank < kWorkers; ++rank) {
    const std::vector<float> own = numbers(rank, size).to_vector<float>();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  return sum;
}

class RelayTest : public ClusterTest {
 protected:
  void run_groups(const std::function<void(Group& group)>& work, int servers = kServers) {
    run_sessions(kWorkers, servers, false, program_, [&](Session& session) {
      BriefGroup group([&] { return wire_of(session); });
      work(group);
    });
  }

  // Each rank has the sums of all, of arrays that pass in one piece, in several, and in chunks.
  static void exchange_rounds(Group& group, int rounds) {
    for (int round = 0; round < rounds; ++round)
      for (const int64_t size : {int64_t{3}, int64_t{20'000}, int64_t{600'001}})
        EXPECT_EQ(collective::all_reduce(group, "", Fold::kSum, numbers(group.rank(), size)).to_vector<float>(),
                  sum_of_all(size));
  }
};

// Large parts go through memory that processes share, or messages.
class RelayOfLargePartsTest : public RelayTest, public testing::WithParamInterface<bool> {
 protected:
  RelayOfLargePartsTest() { shares_memory_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(, RelayOfLargePartsTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "InMemory" : "InMessages"; });

TEST_P(RelayOfLargePartsTest, SumsInTheOrderOfTheRanks) {
  run_groups([](Group& group) {
    EXPECT_EQ(group.size(), kWorkers);
    EXPECT_EQ(group.machines().local_size(), static_cast<size_t>(kWorkers));
    EXPECT_EQ(group.machines().local(), static_cast<size_t>(group.rank()));
    exchange_rounds(group, 3);
  });
}

TEST_P(RelayOfLargePartsTest, GathersScattersAndBroadcasts) {
  run_groups([](Group& group) {
    const int rank = group.rank();
    for (const int64_t rows : {int64_t{1}, int64_t{30'000}}) {
      const std::vector<float> all =
          collective::all_gather(group, "", filled({rows * (rank + 1), 2}, rank)).to_vector<float>();
      ASSERT_EQ(static_cast<int64_t>(all.size()), 2 * rows * 6);
      EXPECT_EQ(all.front(), 0);
      EXPECT_EQ(all[static_cast<size_t>(2 * rows)], 1);
      EXPECT_EQ(all.back(), 2);
      const NDArray sent = filled({rows * 2}, rank + 1);
      EXPECT_THAT(collective::broadcast(group, "", sent, 1).to_vector<float>(), testing::Each(2));
      const std::vector<float> part =
          collective::reduce_scatter(group, "", Fold::kMax, numbers(rank, rows * kWorkers)).to_vector<float>();
      for (size_t i = 0; i < part.size(); ++i) {
        float expected = -INFINITY;
        for (int other = 0; other < kWorkers; ++other)
          expected =
              std::max(expected, numbers(other, rows * kWorkers)
                                     .to_vector<float>()[static_cast<size_t>(rank) * static_cast<size_t>(rows) + i]);
        ASSERT_EQ(part[i], expected);
        if (i == 2) break;
      }
    }
  });
}

TEST_P(RelayOfLargePartsTest, NothingIsLostOrComesTwiceWhenStreamsBreak) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Proxy>> proxies;
  constexpr int kCuts = 6;
  route_ = [&](const std::string& server) {
    std::lock_guard guard(mutex);
    const auto seed = static_cast<uint32_t>(proxies.size()) + 5;
    proxies.push_back(std::make_unique<Proxy>(server, seed, kCuts, shares_memory_ ? 2'000 : 400'000));
    return proxies.back()->address();
  };
  run_groups([](Group& group) { exchange_rounds(group, 8); });
  int cuts = 0;
  for (const auto& proxy : proxies) cuts += proxy->cuts();
  EXPECT_THAT(cuts, Ge(kCuts));
}

TEST_F(RelayTest, TellsAllRanksOfCallsThatDiffer) {
  run_groups([](Group& group) {
    const auto differ = [&] {
      collective::all_reduce(group, "", Fold::kSum, filled({group.rank() == 1 ? 2 : 3}, 1)).to_vector<float>();
    };
    EXPECT_THAT(differ,
                ThrowsMessage<Error>(HasSubstr("rank 0 calls all_reduce(float32 of shape (3,), sum), but rank 1 "
                                               "calls all_reduce(float32 of shape (2,), sum)")));
    EXPECT_THAT([&] { collective::barrier(group); }, ThrowsMessage<Error>(HasSubstr("but rank 1 calls")));
  });
}

TEST_F(RelayTest, ARankLeavesWithoutWaitingForOthers) {
  std::promise<void> has_left;
  const std::shared_future<void> left = has_left.get_future().share();
  run_sessions(kWorkers, kServers, false, program_, [&](Session& session) {
    {
      BriefGroup group([&] { return wire_of(session); });
      collective::barrier(group);
      if (session.rank() != 1) {
        left.wait();
        EXPECT_THAT([&] { collective::barrier(group); }, ThrowsMessage<Error>(HasSubstr("rank 1 has ended, but rank")));
      }
    }
    if (session.rank() == 1) has_left.set_value();
  });
}

TEST_F(RelayTest, OthersHearWhyARankHasFailedWhileTheyWait) {
  run_groups([](Group& group) {
    collective::barrier(group);
    if (group.rank() == 1) return group.end(collective::CallFailure{ErrorKind::kRuntime, "it was mine"});
    EXPECT_THAT([&] { collective::barrier(group); },
                ThrowsMessage<Error>(HasSubstr("rank 1 has failed (it was mine)")));
  });
}

// What it has announced never comes.
TEST_F(RelayTest, OthersHearOfARankThatFailsInTheMiddleOfACall) {
  run_groups([](Group& group) {
    collective::barrier(group);
    if (group.rank() == 1) {
      group.announce("", "barrier");
      return group.end(collective::CallFailure{ErrorKind::kRuntime, std::string(1000, 'x')});
    }
    EXPECT_THAT([&] { collective::barrier(group); }, ThrowsMessage<Error>(HasSubstr("rank 1 has failed (xxx")));
    EXPECT_THAT([&] { collective::barrier(group); }, ThrowsMessage<Error>(HasSubstr("rank 1 has failed (xxx")));
  });
}

TEST_F(RelayTest, WorkersThatComeAndGoExchangeNothing) {
  elastic_ = {.least = 1, .most = 4};
  run_sessions(2, 1, true, program_, [](Session& session) {
    EXPECT_THAT([&] { RelayWire{session}; }, ThrowsMessage<Error>(HasSubstr("workers come and go in this job")));
    session.barrier();
  });
}

TEST_F(RelayTest, WhatOthersWaitForInAStoreDoesNotHoldUpExchanges) {
  run_sessions(2, 1, false, program_, [](Session& session) {
    RemoteStore remote("dist_sync", {}, kvstore::make_host_communicator(), session);
    kvstore::KVStore& store = remote;
    const std::vector<std::string> text(1);
    BriefGroup group([&] { return wire_of(session); });
    if (session.rank() == 0) store.ask_servers(kRestore, text);  // brings something back: pushes of others wait
    collective::barrier(group);
    store.init("w", filled({2}, 0));
    if (session.rank() == 1) store.push("w", {filled({2}, 1)});
    collective::barrier(group);
    if (session.rank() == 0) {
      store.ask_servers(kRestored, text);
      store.push("w", {filled({2}, 1)});
    }
    EXPECT_THAT(pulled(store, "w", {2}), ElementsAre(2, 2));
    store.barrier();
  });
}

// --- what a server keeps ---

TransferRequest gift(uint64_t number, std::array<uint64_t, collective::kCommonLanes> done = {}) {
  TransferRequest request;
  request.set_number(number);
  request.mutable_value();
  for (const uint64_t one : done) request.add_done(one);
  return request;
}

TEST(Relays, RefuseWhatNoWorkerGives) {
  Relay relay(2);
  TransferRequest request = gift(0);
  request.set_lane(7);
  EXPECT_THAT([&] { relay.take(0, request, {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("lane 7")));
  request = gift(0);
  request.add_sizes(4);
  EXPECT_THAT([&] { relay.take(0, request, {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("parts for 1 workers")));
  request.add_sizes(4);
  EXPECT_THAT([&] { relay.take(0, request, {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("more bytes than came")));
  EXPECT_THAT([&] { relay.take(5, gift(0), {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("worker 5")));
  request = gift(0);
  request.clear_done();
  EXPECT_THAT([&] { relay.take(0, request, {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("none sends")));
}

TEST(Relays, ForgetWhatAllWorkersHave) {
  Relay relay(2);
  for (const uint32_t rank : {0U, 1U}) relay.take(rank, gift(0), {}, nullptr);
  relay.take(0, gift(1, {1}), {}, nullptr);
  relay.take(0, gift(0), {}, nullptr);  // worker 1 may still ask
  relay.take(1, gift(1, {1}), {}, nullptr);
  EXPECT_THAT([&] { relay.take(0, gift(0), {}, nullptr); }, ThrowsMessage<Error>(HasSubstr("over for all")));
}

}  // namespace
}  // namespace headrace::distributed
