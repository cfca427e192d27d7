// What the engine promises, one promise per test, for the threaded and the serial engine.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "device/cores.h"
#include "engine_testing.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using test::config_with;
using test::EngineModes;
using test::kCheap;
using test::kDear;

INSTANTIATE_TEST_SUITE_P(All, EngineModes, test::engine_modes(), test::name_of);

TEST_P(EngineModes, RunsInOrderOfConflict) {
  Var x;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) push({}, {&x}, [&order, i] { order.push_back(i); });
  engine.wait_to_read(x);
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_P(EngineModes, SameVarInReadsAndWritesAnyNumberOfTimes) {
  Var x;
  int value = 0;
  for (int i = 0; i < 10; ++i) push({&x, &x}, {&x, &x, &x}, [&] { ++value; });
  engine.wait_to_write(x);
  EXPECT_EQ(value, 10);
  EXPECT_TRUE(x.idle());
}

TEST_P(EngineModes, TaskWithoutVarsRuns) {
  std::atomic<int> runs{0};
  push({}, {}, [&] { ++runs; });
  engine.wait_all();
  EXPECT_EQ(runs, 1);
}

TEST_P(EngineModes, TaskWithHundredsOfVars) {
  std::vector<Var> vars(300);
  std::vector<Var*> all;
  for (Var& var : vars) all.push_back(&var);
  int runs = 0;
  for (int i = 0; i < 20; ++i) push(all, all, [&] { ++runs; });
  engine.wait_to_read(vars[123]);
  EXPECT_EQ(runs, 20);
  engine.wait_all();
}

TEST_P(EngineModes, LargeAndOveralignedBodies) {
  Var x;
  std::array<int64_t, 100> large{};
  large.fill(3);
  struct alignas(256) Aligned {
    int64_t value = 4;
  } aligned;
  int64_t sum = 0;
  bool is_aligned = false;
  push({}, {&x}, [large, &sum] {
    for (int64_t v : large) sum += v;
  });
  push({}, {&x}, [aligned, &sum, &is_aligned] {
    sum += aligned.value;
    is_aligned = reinterpret_cast<uintptr_t>(&aligned) % 256 == 0;
  });
  engine.wait_to_read(x);
  EXPECT_EQ(sum, 304);
  EXPECT_TRUE(is_aligned);
}

// The body owns the Var; the last reference may go with the task.
TEST_P(EngineModes, BodyKeepsItsVarsAlive) {
  std::atomic<int> alive{0};
  struct Owner {
    explicit Owner(std::atomic<int>& count) : count(count) { ++count; }
    ~Owner() { --count; }
    std::atomic<int>& count;
    Var var;
  };
  for (int i = 0; i < 200; ++i) {
    auto owner = std::make_shared<Owner>(alive);
    push({}, {&owner->var}, [owner] {});
    push({&owner->var}, {}, [owner] {});
    push({&owner->var}, {}, [owner] {});
  }
  engine.wait_all();
  EXPECT_EQ(alive, 0);
}

TEST_P(EngineModes, TasksPushTasks) {
  Var x, y;
  int value = 0;
  Engine& e = engine;
  push({}, {&x}, [&] {
    std::array<Var*, 1> writes{&y}, reads{&x};
    e.push({.name = "inner", .reads = reads, .writes = writes, .cost_ns = kDear}, [&] { value = value * 10 + 2; });
    e.push({.name = "inner", .reads = reads, .writes = writes}, [&] { value = value * 10 + 3; });
    value = 1;
  });
  engine.wait_to_read(x);
  engine.wait_to_read(y);
  engine.wait_all();
  EXPECT_EQ(value, engine.serial() ? 1 : 123);
}

// A task that says that it may block may wait for others, even when every compute thread does so.
TEST(Engine, BlockingTasksMayWait) {
  Engine engine(config_with(1));
  std::vector<Var> inner(8), outer(8);
  std::atomic<int> sum{0};
  for (size_t i = 0; i < outer.size(); ++i) {
    std::array<Var*, 1> writes{&outer[i]};
    engine.push({.name = "outer", .writes = writes, .may_block = true}, [&, i] {
      std::array<Var*, 1> inner_writes{&inner[i]};
      engine.push({.name = "inner", .writes = inner_writes, .cost_ns = kDear}, [&] { ++sum; });
      engine.wait_to_read(inner[i]);
      sum += 100;
    });
  }
  engine.wait_all();
  EXPECT_EQ(sum, 808);
}

// Not asked of tasks, but it must not hang: a body that waits without having said so.
TEST(Engine, OrdinaryTasksMayWaitForUnrelatedOnes) {
  Engine engine(config_with(1));
  Var inner, outer;
  std::atomic<int> sum{0};
  std::array<Var*, 1> writes{&outer};
  for (double cost : {kCheap, kDear}) {
    engine.push({.name = "outer", .writes = writes, .cost_ns = cost}, [&] {
      std::array<Var*, 1> inner_writes{&inner};
      engine.push({.name = "inner", .writes = inner_writes, .cost_ns = kDear}, [&] { ++sum; });
      engine.wait_to_read(inner);
      sum += 10;
    });
    engine.wait_to_read(outer);
  }
  EXPECT_EQ(sum, 22);
}

TEST(Engine, CheapTaskRunsInThePushingThread) {
  Engine engine(config_with(2));
  Var x;
  std::array<Var*, 1> writes{&x};
  std::thread::id where;
  engine.push({.name = "cheap", .writes = writes}, [&] { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_TRUE(x.idle());
}

TEST(Engine, BlockingTaskNeverRunsInPushOrWait) {
  Engine engine(config_with(1));
  Var x;
  std::array<Var*, 1> writes{&x};
  std::thread::id where;
  engine.push({.name = "blocking", .writes = writes, .may_block = true}, [&] { where = std::this_thread::get_id(); });
  engine.wait_to_read(x);
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_NE(where, std::thread::id());
}

// More than there are threads for such tasks wait for one that was stated before them, and is ready after them.
TEST(Engine, ABlockingTaskHasAThreadHoweverManyLaterOnesWait) {
  constexpr size_t kLater = 200;
  Engine engine(config_with(1));
  Var first, flag;
  std::vector<Var> later(kLater);
  std::atomic<size_t> waiting{0};
  std::atomic<bool> go{false};
  std::array<Var*, 1> firsts{&first}, flags{&flag};
  engine.push({.name = "late", .writes = firsts, .cost_ns = kDear}, [&] {
    while (waiting < 32) std::this_thread::sleep_for(milliseconds(1));
  });
  engine.push({.name = "awaited", .reads = firsts, .writes = flags, .may_block = true}, [&] { go = true; });
  for (Var& var : later) {
    std::array<Var*, 1> writes{&var};
    engine.push({.name = "waits", .writes = writes, .may_block = true}, [&] {
      ++waiting;
      while (!go) std::this_thread::sleep_for(milliseconds(1));
    });
  }
  EXPECT_TRUE(engine.wait_all_for(std::chrono::minutes(2)));
  go = true;
  engine.wait_all();
}

TEST(Engine, TimedWaits) {
  Engine engine(config_with(1));
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<bool> go{false};
  engine.push({.name = "slow", .writes = writes, .may_block = true}, [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
  });
  EXPECT_FALSE(engine.wait_to_read_for(x, milliseconds(5)));
  EXPECT_FALSE(engine.wait_to_write_for(x, milliseconds(0)));
  EXPECT_FALSE(engine.wait_all_for(milliseconds(5)));
  EXPECT_EQ(engine.pending(), 1);
  go = true;
  EXPECT_TRUE(engine.wait_to_read_for(x, std::chrono::hours(1'000'000)));
  EXPECT_TRUE(engine.wait_all_for(std::chrono::hours(1)));
  engine.wait_to_write(x);
  EXPECT_TRUE(x.idle());
}

TEST(Engine, TimedWaitsGoOnAsLongAsTheyAreToldTo) {
  Engine engine(config_with(1));
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<bool> go{false};
  engine.push({.name = "slow", .writes = writes, .may_block = true}, [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
  });
  int asked = 0;
  EXPECT_FALSE(engine.wait_to_read_for(x, milliseconds(1), [&] { return ++asked < 3; }));
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(engine.wait_to_write_for(x, milliseconds(1), [&] {
    go = true;
    return true;
  }));
  EXPECT_TRUE(x.idle());
}

// A helping thread does not follow a chain of ready tasks beyond what it waits for, nor beyond its time.
TEST(Engine, WaitsEndInTheMiddleOfAChain) {
  Engine engine(config_with(1));
  Var first, rest;
  std::array<Var*, 1> read_first{&first}, write_rest{&rest};
  std::atomic<int> runs{0};
  const auto nap = [&] {
    std::this_thread::sleep_for(milliseconds(2));
    ++runs;
  };
  constexpr int kTasks = 200;
  engine.push({.name = "first", .writes = read_first, .cost_ns = kDear}, nap);
  for (int i = 1; i < kTasks; ++i)
    engine.push({.name = "rest", .reads = read_first, .writes = write_rest, .cost_ns = kDear}, nap);
  engine.wait_to_read(first);
  EXPECT_LT(runs, kTasks);
  EXPECT_FALSE(engine.wait_all_for(milliseconds(10)));
  EXPECT_LT(runs, kTasks);
  engine.wait_all();
  EXPECT_EQ(runs, kTasks);
}

// wait_to_read lets earlier readers be; wait_to_write does not.
TEST(Engine, WaitToReadDoesNotWaitForReaders) {
  Engine engine(config_with(1));
  Var x;
  std::array<Var*, 1> vars{&x};
  std::atomic<bool> go{false};
  engine.push({.name = "reader", .reads = vars, .may_block = true}, [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
  });
  EXPECT_TRUE(engine.wait_to_read_for(x, milliseconds(1000)));
  EXPECT_FALSE(engine.wait_to_write_for(x, milliseconds(5)));
  go = true;
  engine.wait_to_write(x);
}

TEST(Engine, ReadersOfOneVersionRunTogether) {
  Engine engine(config_with(2));
  Var x;
  std::array<Var*, 1> vars{&x};
  std::atomic<int> inside{0};
  for (int i = 0; i < 4; ++i) {
    engine.push({.name = "reader", .reads = vars, .may_block = true}, [&] {
      ++inside;
      while (inside < 4) std::this_thread::sleep_for(milliseconds(1));
    });
  }
  engine.wait_to_write(x);
  EXPECT_EQ(inside, 4);
}

// One worker is held up while tasks of all priorities queue up; then they run in the order of their priorities.
TEST(Engine, PrioritiesDecideAmongReadyTasks) {
  Config config = config_with(1);
  config.lookahead = 0;
  Engine engine(config);
  Var gate;
  std::array<Var*, 1> gates{&gate};
  std::atomic<bool> go{false};
  engine.push({.name = "gate", .writes = gates, .may_block = true}, [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
  });
  std::vector<Priority> order;  // one worker: never two at once
  std::vector<Var> vars(30);
  for (size_t i = 0; i < vars.size(); ++i) {
    const Priority priority = static_cast<Priority>(2 - i % 3);
    std::array<Var*, 1> writes{&vars[i]};
    engine.push({.name = "task", .reads = gates, .writes = writes, .cost_ns = kDear, .priority = priority},
                [&order, priority] { order.push_back(priority); });
  }
  go = true;
  for (Var& var : vars)
    while (!var.idle()) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_EQ(order.size(), vars.size());
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Whatever is urgent, nothing begins too early, and the oldest task is always found.
TEST(Engine, UrgencyDecidesWithinAPriority) {
  for (const int64_t lookahead : {0, 4}) {
    Config config = config_with(1);
    config.lookahead = lookahead;
    Engine engine(config);
    Var gate;
    std::array<Var*, 1> gates{&gate};
    std::atomic<bool> go{false};
    engine.push({.name = "gate", .writes = gates, .may_block = true}, [&] {
      while (!go) std::this_thread::sleep_for(milliseconds(1));
    });
    std::vector<int> order;  // one worker: never two at once
    std::vector<Var> vars(30);
    for (int i = 0; i < 30; ++i) {
      std::array<Var*, 1> writes{&vars[static_cast<size_t>(i)]};
      engine.push({.name = "task", .reads = gates, .writes = writes, .cost_ns = kDear, .urgency = i / 10},
                  [&order, i] { order.push_back(i); });
    }
    go = true;
    for (Var& var : vars)
      while (!var.idle()) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(order.size(), vars.size());
    if (lookahead == 0) {
      std::vector<int> expected(30);
      for (int i = 0; i < 30; ++i) expected[static_cast<size_t>(i)] = 10 * (2 - i / 10) + i % 10;
      EXPECT_EQ(order, expected);
    }
    std::ranges::sort(order);
    for (int i = 0; i < 30; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
}

TEST(Engine, BackPressureBoundsPendingTasks) {
  Config config = config_with(1);
  config.max_pending = 32;
  Engine engine(config);
  Var x;
  std::array<Var*, 1> writes{&x};
  int64_t most = 0;
  int runs = 0;
  for (int i = 0; i < 5000; ++i) {
    engine.push({.name = "task", .writes = writes, .cost_ns = kDear}, [&] { ++runs; });
    most = std::max(most, engine.pending());
  }
  engine.wait_all();
  EXPECT_EQ(runs, 5000);
  EXPECT_LE(most, 64);
  EXPECT_EQ(engine.pending(), 0);
}

TEST(Engine, BackPressureBoundsHostBytes) {
  Config config = config_with(1);
  config.max_pending_bytes = 1 << 20;
  Engine engine(config);
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<int64_t> held{0};
  int64_t most = 0;
  for (int i = 0; i < 500; ++i) {
    held += 100'000;
    engine.push({.name = "task", .writes = writes, .cost_ns = kDear, .host_bytes = 100'000}, [&] { held -= 100'000; });
    most = std::max(most, held.load());
  }
  engine.wait_all();
  EXPECT_EQ(held, 0);
  EXPECT_LE(most, (1 << 20) + 200'000);
}

TEST(Engine, BackPressureNeverBlocksATaskThatPushes) {
  Config config = config_with(1);
  config.max_pending = 4;
  Engine engine(config);
  Var x, y;
  std::array<Var*, 1> xs{&x};
  std::atomic<int> runs{0};
  engine.push({.name = "outer", .writes = xs, .cost_ns = kDear}, [&] {
    std::array<Var*, 1> reads{&x}, writes{&y};
    for (int i = 0; i < 200; ++i)
      engine.push({.name = "inner", .reads = reads, .writes = writes, .cost_ns = kDear}, [&] { ++runs; });
  });
  engine.wait_to_read(x);
  engine.wait_all();
  EXPECT_EQ(runs, 200);
}

TEST(Engine, ShutdownRunsWhatIsQueuedAndAllowsMore) {
  Engine engine(config_with(2));
  std::vector<Var> vars(50);
  std::atomic<int> runs{0};
  for (int round = 0; round < 3; ++round) {
    for (Var& var : vars) {
      std::array<Var*, 1> writes{&var};
      engine.push({.name = "task", .writes = writes, .cost_ns = kDear}, [&] { ++runs; });
    }
    engine.push({.name = "blocking", .may_block = true}, [&] { ++runs; });
    engine.shutdown();
    EXPECT_EQ(runs, 51 * (round + 1));
  }
}

TEST(Engine, DestructionRunsWhatIsQueued) {
  std::atomic<int> runs{0};
  std::vector<Var> vars(50);
  {
    Engine engine(config_with(2));
    for (Var& var : vars) {
      std::array<Var*, 1> writes{&var};
      engine.push({.name = "task", .writes = writes, .cost_ns = kDear}, [&] { ++runs; });
    }
  }
  EXPECT_EQ(runs, 50);
}

TEST(Engine, ShutdownInsideATaskDoesNothing) {
  Engine engine(config_with(1));
  Var x;
  std::array<Var*, 1> writes{&x};
  int runs = 0;
  for (double cost : {kCheap, kDear}) {
    engine.push({.name = "task", .writes = writes, .cost_ns = cost}, [&] {
      engine.shutdown();
      ++runs;
    });
  }
  engine.wait_all();
  EXPECT_EQ(runs, 2);
}

// A worker that pauses between tasks parks; a chain of them must wake it each time.
TEST(Engine, ParkedWorkersWakeUp) {
  Config config = config_with(2);
  config.spin_us = 0;
  Engine engine(config);
  Var x;
  std::array<Var*, 1> writes{&x};
  int runs = 0;
  for (int i = 0; i < 200; ++i) {
    engine.push({.name = "task", .writes = writes, .cost_ns = 1e6}, [&] { ++runs; });
    if (i % 20 == 0) std::this_thread::sleep_for(milliseconds(1));
    if (i % 3 == 0) engine.wait_to_read(x);
  }
  // Without any wait that helps.
  while (engine.pending() > 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(runs, 200);
}

// Many tasks are ready; a thread waits for the first and leaves. The others run without any further wait.
TEST(Engine, WaitForOneTaskDoesNotStrandTheOthers) {
  Config config = config_with(2);
  config.spin_us = 0;
  Engine engine(config);
  std::vector<Var> vars(200);
  std::atomic<int> runs{0};
  for (int round = 1; round <= 20; ++round) {
    for (Var& var : vars) {
      std::array<Var*, 1> writes{&var};
      engine.push({.name = "task", .writes = writes, .cost_ns = 20'000}, [&] { ++runs; });
    }
    engine.wait_to_read(vars[static_cast<size_t>(round)]);
    for (int i = 0; engine.pending() > 0 && i < 10'000; ++i) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(runs, 200 * round);
  }
}

// What costs less than waking a worker is left to the thread that pushes it, until others need it.
TEST(Engine, WhatIsLeftToAThreadIsHandedOverWhenOthersNeedIt) {
  Engine engine(config_with(2));
  Var x, sent;
  std::array<Var*, 1> made{&x}, sends{&sent};
  const auto push = [&](double cost_ns, std::span<Var* const> reads, std::span<Var* const> writes, Priority priority) {
    engine.push({.name = "task", .reads = reads, .writes = writes, .cost_ns = cost_ns, .priority = priority}, [] {});
  };
  const auto has_run = [&] {
    for (int i = 0; engine.pending() > 0 && i < 10'000; ++i) std::this_thread::sleep_for(milliseconds(1));
    return engine.pending() == 0;
  };
  for (int round = 0; round < 20; ++round) {
    push(Engine::kInlineCostNs, {}, made, Priority::kNormal);
    if (round % 2)
      engine.hand_over();
    else
      push(kCheap, made, sends, Priority::kHigh);
    ASSERT_TRUE(has_run()) << round;
  }
}

TEST(Engine, NothingBeginsBesideLoopsThatUseAllCores) {
  if (core_count() < 2) GTEST_SKIP() << "no loop uses several threads here";
  Engine engine(config_with(2));
  std::atomic<bool> looping{false}, stop{false}, ran{false};
  std::thread other([&] {
    BusyThread busy;
    WideLoop loop(core_count());
    looping = true;
    while (!stop) std::this_thread::yield();
  });
  while (!looping) std::this_thread::yield();
  Var x;
  Var* const var = &x;
  engine.push({.name = "dear", .writes = {&var, 1}, .cost_ns = 1e9}, [&] { ran = true; });
  EXPECT_FALSE(engine.wait_to_read_for(x, milliseconds(20)));
  EXPECT_FALSE(ran);
  stop = true;
  other.join();
  engine.wait_to_read(x);
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace headrace
