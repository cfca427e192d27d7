// Stores of jobs whose workers come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr kvstore::Sharing kAsynchronous{.asynchronous = true};

class ElasticTest : public ClusterTest, public testing::WithParamInterface<int> {
 protected:
  ElasticTest() {
    elastic_ = {1, 4};
    replicas_ = GetParam();
  }

  // A worker that comes later.
  class Joined {
   public:
    Joined(const Job& job, const kvstore::Sharing& sharing)
        : session_(job), store_("dist_async", sharing, kvstore::make_host_communicator(), session_) {
      store_.send_command(0, "descend");
    }
    kvstore::KVStore* operator->() noexcept { return &store_; }
    kvstore::KVStore& store() noexcept { return store_; }

   private:
    Session session_;
    RemoteStore store_;
  };

  static void push(kvstore::KVStore& store, int times) {
    for (int i = 0; i < times; ++i) store.push("w", {filled({3}, 1)});
  }
};
INSTANTIATE_TEST_SUITE_P(, ElasticTest, testing::Values(1, 2));

TEST_P(ElasticTest, WhoJoinsFindsWhatIsThere) {
  run(1, 2, kAsynchronous, [&](kvstore::KVStore& store) {
    store.send_command(0, "descend");
    store.init("w", filled({3}, 10));
    push(store, 2);
    EXPECT_THAT(pulled(store, "w", {3}), Each(8));
    Joined other(joining_, kAsynchronous);
    EXPECT_EQ(other->rank(), 1);
    EXPECT_TRUE(other->has_joined());
    other->init("w", filled({3}, 77));
    EXPECT_THAT(pulled(other.store(), "w", {3}), Each(8));
    push(other.store(), 3);
    EXPECT_THAT(pulled(other.store(), "w", {3}), Each(5));
    push(store, 1);
    EXPECT_THAT(pulled(store, "w", {3}), Each(4));
  });
}

TEST_P(ElasticTest, AnotherOneOfTheSameRankIsCountedAnew) {
  run(2, 1, kAsynchronous, [&](kvstore::KVStore& store) {
    store.send_command(0, "descend");
    store.init("w", filled({3}, 100));
    if (store.rank() == 1) return push(store, 5);
    while (store.num_workers() == 2) std::this_thread::yield();
    for (int i = 1; i <= 3; ++i) {
      Joined other(joining_, kAsynchronous);
      EXPECT_EQ(other->rank(), 1);
      other->init("w", filled({3}, 0));
      push(other.store(), 2);
      EXPECT_THAT(pulled(other.store(), "w", {3}), Each(100 - 5 - 2 * i));
    }
    EXPECT_THAT(pulled(store, "w", {3}), Each(89));
  });
}

TEST_P(ElasticTest, AnotherWorker0InitsWhatIsMissing) {
  run(2, 1, kAsynchronous, [&](kvstore::KVStore& store) {
    if (store.rank() == 0) return;
    auto waiting = std::async(std::launch::async, [&] { store.init("w", filled({3}, 1)); });
    EXPECT_NE(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
    std::optional<Joined> joined;
    do {
      joined.emplace(joining_, kAsynchronous);
    } while ((*joined)->rank() != 0);  // until the other one has ended
    (*joined)->init("w", filled({3}, 6));
    waiting.get();
    EXPECT_THAT(pulled(store, "w", {3}), Each(6));
  });
}

TEST_P(ElasticTest, StalenessIsBoundedFromThePlaceOfTheSlowest) {
  const kvstore::Sharing bounded{.asynchronous = true, .staleness = 1};
  run(1, 1, bounded, [&](kvstore::KVStore& store) {
    store.send_command(0, "descend");
    store.init("w", filled({3}, 0));
    push(store, 5);
    std::optional<Joined> other(std::in_place, joining_, bounded);
    (*other)->init("w", filled({3}, 0));
    push(store, 3);
    EXPECT_THAT(pulled(store, "w", {3}), Each(-8));  // who has not pushed yet is not waited for
    push(other->store(), 1);                         // as the ninth
    EXPECT_THAT(pulled(other->store(), "w", {3}), Each(-9));
    push(store, 3);  // 11
    auto ahead = std::async(std::launch::async, [&] { return pulled(store, "w", {3}); });
    EXPECT_NE(ahead.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
    push(other->store(), 1);
    EXPECT_THAT(ahead.get(), Each(-13));
    push(store, 1);
    ahead = std::async(std::launch::async, [&] { return pulled(store, "w", {3}); });
    EXPECT_NE(ahead.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
    other.reset();
    EXPECT_THAT(ahead.get(), Each(-14));
  });
}

TEST_P(ElasticTest, RoundsOfAllWorkersAreRefused) {
  run(1, 1, kAsynchronous, [&](kvstore::KVStore&) {
    Session session(joining_);
    EXPECT_THAT([&] { RemoteStore("dist_sync", kvstore::Sharing{}, kvstore::make_host_communicator(), session); },
                ThrowsMessage<Error>(
                    HasSubstr("a 'dist_sync' store has rounds of all workers, but those of this job come and go")));
  });
}

}  // namespace
}  // namespace headrace::distributed
