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

#include "device/cores.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

using std::chrono::milliseconds;

constexpr double kCheap = 0, kDear = 10'000;

Config config_with(int workers, bool serial = false) {
  Config config;
  config.workers = workers;
  config.serial_engine = serial;
  config.spin_us = 20;
  return config;
}

struct Mode {
  const char* name;
  bool serial;
  double cost_ns;
};

class EngineModes : public ::testing::TestWithParam<Mode> {
 protected:
  Engine engine{config_with(2, GetParam().serial)};

  template <class Body>
  void push(std::vector<Var*> reads, std::vector<Var*> writes, Body&& body, const char* name = "task") {
    engine.push({.name = name, .reads = reads, .writes = writes, .cost_ns = GetParam().cost_ns},
                std::forward<Body>(body));
  }
};

INSTANTIATE_TEST_SUITE_P(All, EngineModes,
                         ::testing::Values(Mode{"Cheap", false, kCheap}, Mode{"Dear", false, kDear},
                                           Mode{"Serial", true, kDear}),
                         [](const auto& info) { return info.param.name; });

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

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

TEST_P(EngineModes, ErrorKeepsTypeTextAndKind) {
  Var x;
  push({}, {&x}, [] { throw Error(ErrorKind::kIndex, "take: index 9 is out of range"); });
  try {
    engine.wait_to_read(x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_STREQ(error.what(), "take: index 9 is out of range");
  }
  push({}, {&x}, [] { throw 42; });
  EXPECT_THROW(engine.wait_to_read(x), int);
  push({}, {&x}, [] { throw std::bad_alloc(); });
  EXPECT_THROW(engine.wait_to_write(x), std::bad_alloc);
}

TEST_P(EngineModes, ErrorIsRaisedEveryTimeUntilOverwritten) {
  Var x;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), "boom");
  EXPECT_TRUE(x.poisoned());
  EXPECT_NE(x.error(), nullptr);
  push({}, {&x}, [] {});
  engine.wait_to_read(x);
  EXPECT_FALSE(x.poisoned());
  EXPECT_EQ(x.error(), nullptr);
}

TEST_P(EngineModes, ErrorTravelsAlongReads) {
  Var a, b, c, d;
  bool ran = false;
  push({}, {&a}, [] { throw std::runtime_error("first"); });
  push({&a}, {&b}, [&] { ran = true; });
  push({&b}, {&c, &d}, [&] { ran = true; });
  for (Var* var : {&a, &b, &c, &d}) EXPECT_EQ(message_of([&] { engine.wait_to_read(*var); }), "first");
  EXPECT_FALSE(ran);
}

TEST_P(EngineModes, InPlaceUpdateKeepsTheError) {
  Var x;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  push({&x}, {&x}, [] {});
  EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), "boom");
}

TEST_P(EngineModes, ReadersDoNotCatchTheErrorsOfReaders) {
  Var x, y;
  push({}, {&x}, [] {});
  push({&x}, {&y}, [] { throw std::runtime_error("boom"); });
  engine.wait_to_read(x);
  EXPECT_EQ(message_of([&] { engine.wait_to_read(y); }), "boom");
  push({}, {&y}, [] {});
  engine.wait_to_read(y);
}

TEST_P(EngineModes, WaitAllRaisesEachErrorOnceOldestFirst) {
  Var w, x, y, z;
  push({}, {&w}, [] { throw std::runtime_error("zero"); });
  EXPECT_EQ(message_of([&] { engine.wait_to_write(w); }), "zero");  // raised: not again by wait_all
  push({}, {&x}, [] { throw std::runtime_error("one"); });
  push({&x}, {&y}, [] { throw std::runtime_error("never runs"); });
  engine.wait_to_write_for(z, milliseconds(1));
  push({&z}, {&z}, [] { throw std::runtime_error("two"); });
  std::vector<std::string> raised;
  for (std::string text; !(text = message_of([&] { engine.wait_all(); })).empty();) raised.push_back(text);
  std::ranges::sort(raised);  // the two failed independently of each other
  EXPECT_EQ(raised, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(message_of([&] { engine.wait_to_read(z); }), "two");  // still poisoned
  push({}, {&z}, [] { throw std::runtime_error("three"); });
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "three");
}

// Nobody waits for x before it is overwritten, or even destroyed.
TEST_P(EngineModes, ErrorNobodyWaitsForIsNotLost) {
  {
    Var x;
    push({}, {&x}, [] { throw std::runtime_error("lost?"); });
    push({}, {&x}, [] {});
    engine.wait_to_write(x);
  }
  push({}, {}, [] { throw std::runtime_error("writes nothing"); });
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "lost?");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "writes nothing");
  engine.wait_all();
}

// An update that cannot happen leaves the value, and the error of an earlier write of it.
TEST_P(EngineModes, WhatKeepsShowsNoErrorButTells) {
  Var gradient, weight, broken;
  const auto push_update = [&](Var* written, auto body) {
    Var* const reads[] = {&gradient, written};
    engine.push({.name = "update", .reads = reads, .writes = {&written, 1}, .keeps = true}, std::move(body));
  };
  int updates = 0;
  push({}, {&weight}, [] {});
  push({}, {&broken}, [] { throw std::runtime_error("broken before"); });
  push({}, {&gradient}, [] { throw std::runtime_error("no gradient"); });
  push_update(&weight, [&] { ++updates; });
  push_update(&broken, [&] { ++updates; });
  engine.wait_to_read(weight);
  EXPECT_EQ(message_of([&] { engine.wait_to_read(broken); }), "broken before");
  engine.drain();
  EXPECT_EQ(message_of([&] { engine.raise_kept(); }), "no gradient");
  engine.raise_kept();  // once
  push({}, {&gradient}, [] {});
  push_update(&weight, [&] { ++updates; });
  push_update(&weight, [] { throw std::runtime_error("no room"); });
  push_update(&weight, [&] { ++updates; });
  engine.wait_to_read(weight);
  engine.drain();
  EXPECT_EQ(updates, 2);
  EXPECT_EQ(message_of([&] { engine.raise_kept(); }), "no room");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "");  // all raised
}

TEST_P(EngineModes, SkippedBodyIsDestroyed) {
  auto token = std::make_shared<int>(1);
  Var x, y;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  push({&x}, {&y}, [token] {});
  EXPECT_THROW(engine.wait_to_read(y), std::runtime_error);
  engine.wait_all();  // the wait for y has raised it
  EXPECT_EQ(token.use_count(), 1);
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

// wait_to_read lets earlier readers be; wait_to_write does not.
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
  Engine engine(config_with(1));
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

TEST(Engine, FailureLogDropsTheNewestBeyondItsLimit) {
  Engine engine(config_with(1));
  for (int i = 0; i < 1500; ++i) engine.push({.name = "task"}, [i] { throw std::runtime_error(std::to_string(i)); });
  int count = 0;
  for (std::string text; !(text = message_of([&] { engine.wait_all(); })).empty(); ++count)
    EXPECT_EQ(text, std::to_string(count));
  EXPECT_EQ(count, 1024);
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
