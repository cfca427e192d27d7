// What a job may ask of its servers.
#include "distributed/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "headrace/error.hpp"
#include "headrace/sparse.hpp"
#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Limits, BytesAreGivenBack) {
  Holdings holdings({.held_bytes = 100});
  const Holdings::Hold kept = holdings.hold("w", 40);
  {
    const Holdings::Hold passing = holdings.hold("w", 60);
    EXPECT_THAT([&] { holdings.hold("v", 1); },
                ThrowsMessage<Error>(AllOf(HasSubstr("key 'v': the server holds 100 bytes"), HasSubstr("1 more pass"),
                                           HasSubstr("HEADRACE_MAX_SERVER_MB"))));
  }
  EXPECT_NE(holdings.hold("v", 60), nullptr);
}

TEST(Limits, KeysAreCounted) {
  Holdings holdings({.keys = 2});
  const Holdings::Hold a = holdings.hold_new("a", 1), b = holdings.hold_new("b", 1);
  EXPECT_THAT(
      [&] { holdings.hold_new("c", 1); },
      ThrowsMessage<Error>(AllOf(HasSubstr("key 'c'"), HasSubstr("holds 2 keys"), HasSubstr("HEADRACE_MAX_KEYS"))));
}

class LimitsTest : public ClusterTest {
 protected:
  static void still_works(kvstore::KVStore& store) {
    store.push("w", {filled({100}, 2)});
    EXPECT_THAT(pulled(store, "w", {100}), Each(2 * store.num_workers()));
  }
};

TEST_F(LimitsTest, OfKeysAreToldToTheWorker) {
  limits_.keys = 1;
  run(2, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({100}, 0));
    EXPECT_THAT([&] { store.init("v", filled({100}, 0)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("kvstore init: server 0"), HasSubstr("key 'v'"))));
    still_works(store);
  });
}

TEST_F(LimitsTest, OfBytesAreToldToTheWorker) {
  limits_.held_bytes = 4000;
  run(2, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({100}, 0));
    EXPECT_THAT([&] { store.init("v", filled({1000}, 0)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("kvstore init: server 0"), HasSubstr("HEADRACE_MAX_SERVER_MB"))));
    still_works(store);
  });
}

TEST_F(LimitsTest, OfPushesThatWaitForOthersAreToldToAll) {
  limits_.held_bytes = 4000;
  std::promise<void> refused;
  run(2, 1, false, [&](kvstore::KVStore& store) {
    store.init("w", filled({100}, 0));
    store.barrier();
    const auto push = [&](int rounds) {
      for (int round = 0; round < rounds; ++round) store.push("w", {filled({100}, 1)});
      pulled(store, "w", {100});
    };
    if (store.rank() == 1) refused.get_future().wait();
    EXPECT_THAT([&] { push(store.rank() == 0 ? 20 : 1); }, ThrowsMessage<Error>(HasSubstr("HEADRACE_MAX_SERVER_MB")));
    if (store.rank() == 0) refused.set_value();
  });
}

TEST_F(LimitsTest, OfMessagesAreToldToTheWorker) {
  limits_.message_bytes = 2000;
  shares_memory_ = false;
  run(1, 1, false, [](kvstore::KVStore& store) {
    EXPECT_THAT(
        [&] { store.init("v", filled({1000}, 0)); },
        ThrowsMessage<Error>(AllOf(HasSubstr("kvstore init: a message of 40"), HasSubstr("server 0 at 127.0.0.1"),
                                   HasSubstr("the limit of 2000"), HasSubstr("HEADRACE_MAX_MESSAGE_MB"))));
    store.init("w", filled({100}, 0));
    still_works(store);
  });
}

// A row_sparse array is inited small, and what is pushed is not.
TEST_F(LimitsTest, OfMessagesHoldForPushes) {
  limits_.message_bytes = 2000;
  shares_memory_ = false;
  run(1, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({100}, 0));
    store.init("e", sparse::zeros(StorageKind::kRowSparse, {1000, 2}));
    EXPECT_THAT(
        [&] {
          store.push("e", {call("cast_storage", {filled({1000, 2}, 1)}, {{"stype", "row_sparse"}})});
        },
        ThrowsMessage<Error>(HasSubstr("kvstore push: a message of")));
    still_works(store);
  });
}

}  // namespace
}  // namespace headrace::distributed
