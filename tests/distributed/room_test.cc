// How much of what workers push may be without an answer.
#include "distributed/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/interruption.h"
#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::Each;

constexpr std::chrono::milliseconds kAWhile{100};
constexpr std::chrono::hours kForEver{1};

std::shared_ptr<Room> room_of(size_t bytes, std::chrono::milliseconds patience = kForEver) {
  return std::make_shared<Room>(bytes, patience);
}

auto booking(Room& room, size_t bytes) {
  return std::async(std::launch::async, [&room, bytes] { return room.book(bytes); });
}

template <class Result>
bool is_ready(std::future<Result>& future, std::chrono::milliseconds time) {
  return future.wait_for(time) == std::future_status::ready;
}

TEST(Room, WhatDoesNotFitWaitsForAnswers) {
  const auto room = room_of(100);
  auto first = room->book(60), second = room->book(40);
  first->sent();
  auto third = booking(*room, 50);
  EXPECT_FALSE(is_ready(third, kAWhile));
  second.reset();  // it will not be sent
  EXPECT_FALSE(is_ready(third, kAWhile));
  first.reset();
  third.get();
}

TEST(Room, WhatIsLargerThanAllOfItGoesAlone) {
  const auto room = room_of(100);
  auto large = room->book(1000);
  large->sent();
  auto next = booking(*room, 1);
  EXPECT_FALSE(is_ready(next, kAWhile));
  large.reset();
  next.get();
}

TEST(Room, WhoIsInterruptedWaitsNoMore) {
  const auto room = room_of(100, std::chrono::milliseconds(0));
  auto first = room->book(100);
  first->sent();
  struct Stop {};
  const Interruptible interruptible([] { throw Stop(); });
  EXPECT_THROW(room->book(1), Stop);
  first.reset();
  room->book(100);
}

TEST(Room, NobodyWaitsForWhatNobodyHasSent) {
  const auto room = room_of(100, std::chrono::milliseconds(10));
  auto first = room->book(100), second = room->book(100);  // which the first may need
  first->sent();
  auto third = booking(*room, 100);
  EXPECT_FALSE(is_ready(third, kAWhile));
  second->sent();
  first.reset();
  EXPECT_FALSE(is_ready(third, kAWhile));
  second.reset();
  third.get();
}

// Its servers update when they may.
class Hesitant final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int, const std::string&) override {
    store.set_updater([may = may_go_on.get_future().share()](std::span<const kvstore::Update> updates) {
      may.wait();
      for (const kvstore::Update& one : updates) copy_into(one.stored, one.reduced);
    });
    return {};
  }

  std::promise<void> may_go_on;
};

class RoomTest : public ClusterTest {};

TEST_F(RoomTest, AServerThatIsSlowSlowsWhoPushes) {
  limits_.unanswered_bytes = 500;
  for (const bool shares_memory : {true, false}) {
    shares_memory_ = shares_memory;
    Hesitant program;
    run(1, 1, {.asynchronous = true}, program, [&](kvstore::KVStore& store) {
      store.send_command(0, "begin");
      store.init("w", filled({100}, 0));
      store.push("w", {filled({100}, 1)});
      auto second = std::async(std::launch::async, [&] { store.push("w", {filled({100}, 2)}); });
      EXPECT_FALSE(is_ready(second, kAWhile));
      program.may_go_on.set_value();
      second.get();
      EXPECT_THAT(pulled(store, "w", {100}), Each(2));
    });
  }
}

// A round is closed by others, for whom nobody waits when he pushes.
TEST_F(RoomTest, WhatWaitsForOtherWorkersTakesNone) {
  limits_.unanswered_bytes = 500;
  for (const int replicas : {1, 2}) {
    replicas_ = replicas;
    std::promise<void> is_ahead;
    run(2, 1, false, [&](kvstore::KVStore& store) {
      store.init("w", filled({100}, 0));
      if (store.rank() == 1) is_ahead.get_future().wait();
      for (int round = 1; round <= 5; ++round) store.push("w", {filled({100}, round)});
      if (store.rank() == 0) is_ahead.set_value();
      EXPECT_THAT(pulled(store, "w", {100}), Each(10));
    });
  }
}

}  // namespace
}  // namespace headrace::distributed
