// Several threads push to one engine and wait for it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/engine/engine_testing.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using test::config_with;
using test::kCheap;
using test::kDear;

// Two threads push tasks that share the same two Vars in opposite order: interleaved registrations would close a cycle.
TEST(SeveralThreads, BuildNoCycle) {
  Engine engine(config_with(2));
  Var a, b;
  int64_t value = 0;
  constexpr int kRounds = 3000;
  const auto pusher = [&](Var* first, Var* second) {
    std::array<Var*, 2> writes{first, second};
    for (int i = 0; i < kRounds; ++i) {
      engine.push({.name = "both", .writes = writes, .cost_ns = i % 2 ? kCheap : kDear}, [&] { ++value; });
      if (i % 100 == 0) engine.wait_to_read(*first);
    }
  };
  std::thread one(pusher, &a, &b), two(pusher, &b, &a);
  one.join();
  two.join();
  engine.wait_all();
  EXPECT_EQ(value, 2 * kRounds);
}

// Threads come and go; the engine returns to the way of a single pushing thread when only one is left.
TEST(SeveralThreads, ComeAndGo) {
  Engine engine(config_with(2));
  Var x;
  std::array<Var*, 1> writes{&x};
  int64_t value = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) engine.push({.name = "main", .writes = writes}, [&] { ++value; });
    std::thread other([&] {
      for (int i = 0; i < 50; ++i)
        engine.push({.name = "other", .writes = writes, .cost_ns = i % 3 ? kCheap : kDear}, [&] { ++value; });
    });
    for (int i = 0; i < 50; ++i) engine.push({.name = "main", .writes = writes}, [&] { ++value; });
    other.join();
  }
  engine.wait_all();
  EXPECT_EQ(value, 20 * 150);
}

TEST(SeveralThreads, WaitForOneVar) {
  Engine engine(config_with(2));
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<bool> go{false};
  int value = 0;
  engine.push({.name = "slow", .writes = writes, .may_block = true}, [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
    value = 7;
  });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      engine.wait_to_read(x);
      right += value == 7;
    });
  }
  std::this_thread::sleep_for(milliseconds(5));
  go = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

// A wait whose turn has come at once may still be what holds up a task that another thread pushed meanwhile: behind it,
// the last reader has left the chain in between.
TEST(SeveralThreads, TaskBehindAWaitRuns) {
  Engine engine(config_with(2));
  Var x;
  std::array<Var*, 1> vars{&x};
  constexpr int kRounds = 20'000;
  std::atomic<bool> ends{false};
  std::atomic<int> runs{0};
  std::thread reader([&] {
    while (!ends) {
      engine.push({.name = "read", .reads = vars, .cost_ns = kDear}, [] {});
      engine.wait_to_read(x);
    }
  });
  int pushed = 0;
  for (bool stuck = false; pushed < kRounds && !stuck;) {
    engine.push({.name = "write", .writes = vars, .cost_ns = kDear}, [&] { ++runs; });
    ++pushed;
    stuck = !engine.wait_to_write_for(x, std::chrono::seconds(20));
  }
  ends = true;
  EXPECT_EQ(runs, pushed);
  reader.join();
}

}  // namespace
}  // namespace headrace
