// fork() in the middle of things: parent and child both go on with a working engine.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/parallel.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Runs the check in a forked child; true when the child says so and ends well.
template <class Check>
bool child_agrees(const Check& check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs is a failed child
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool engine_works() {
  Engine& engine = runtime().engine;
  std::vector<Var> vars(20);
  std::atomic<int> runs{0};
  for (int i = 0; i < 200; ++i) {
    std::array<Var*, 1> reads{&vars[static_cast<size_t>(i) % 20]}, writes{&vars[static_cast<size_t>(i * 7) % 20]};
    engine.push({.name = "task", .reads = reads, .writes = writes, .cost_ns = i % 2 ? 0.0 : 1e5}, [&] { ++runs; });
  }
  engine.push({.name = "blocking", .may_block = true}, [&] { ++runs; });
  engine.wait_all();
  return runs == 201;
}

TEST(Fork, ChildAndParentGoOnAfterWorkInFlight) {
  Engine& engine = runtime().engine;
  for (int round = 0; round < 5; ++round) {
    std::vector<Var> vars(30);
    std::atomic<int> runs{0};
    for (Var& var : vars) {
      std::array<Var*, 1> writes{&var};
      engine.push({.name = "task", .writes = writes, .cost_ns = 1e5}, [&] { ++runs; });
    }
    EXPECT_TRUE(child_agrees([&] { return runs == 30 && engine_works(); }));
    EXPECT_EQ(runs, 30);
    EXPECT_TRUE(engine_works());
  }
}

TEST(Fork, AChildHasNoUpdatesThatFailedInItsParent) {
  Engine& engine = runtime().engine;
  {
    Var gradient, weight;
    std::array<Var*, 1> reads{&gradient}, writes{&weight}, broken{&gradient};
    engine.push({.name = "gradient", .writes = broken}, [] { throw std::runtime_error("no gradient"); });
    engine.push({.name = "update", .reads = reads, .writes = writes, .keeps = true}, [] {});
    engine.drain();
  }
  const auto is_clean = [&engine] {
    try {
      engine.raise_kept();
    } catch (const std::exception&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(child_agrees(is_clean));
  EXPECT_FALSE(is_clean());  // and the parent still has them
}

TEST(Fork, ChildOfAChild) {
  EXPECT_TRUE(engine_works());
  EXPECT_TRUE(child_agrees([] { return engine_works() && child_agrees(engine_works) && engine_works(); }));
  EXPECT_TRUE(engine_works());
}

TEST(Fork, WhileAnotherThreadPushes) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' heaps do not survive a fork beside running threads";
  Engine& engine = runtime().engine;
  std::atomic<bool> stop{false};
  std::atomic<int64_t> runs{0};
  int64_t pushed = 0;
  std::thread other([&] {
    Var x;
    std::array<Var*, 1> writes{&x};
    for (; !stop; ++pushed)
      engine.push({.name = "task", .writes = writes, .cost_ns = pushed % 3 ? 0.0 : 1e4}, [&] { ++runs; });
    engine.wait_to_write(x);
  });
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(child_agrees(engine_works));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop = true;
  other.join();
  EXPECT_EQ(runs, pushed);
  EXPECT_TRUE(engine_works());
}

TEST(Fork, WhileAnotherThreadInternsNames) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' heaps do not survive a fork beside running threads";
  runtime();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (int i = 0; !stop; ++i) timeline::intern(std::to_string(i % 100));
  });
  for (int round = 0; round < 50; ++round)
    EXPECT_TRUE(child_agrees([] { return timeline::intern("child") == timeline::intern("child"); }));
  stop = true;
  other.join();
}

TEST(Fork, InsideATask) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' heaps do not survive a fork beside running threads";
  Engine& engine = runtime().engine;
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<int> agreed{0};
  for (double cost : {0.0, 1e5})
    engine.push({.name = "forks", .writes = writes, .cost_ns = cost}, [&] { agreed += child_agrees(engine_works); });
  engine.push({.name = "forks", .writes = writes, .may_block = true}, [&] { agreed += child_agrees(engine_works); });
  engine.wait_to_read(x);
  EXPECT_EQ(agreed, 3);
}

// Threads that come, go and take tasks hold locks for moments; a child must not inherit a locked one.
TEST(Fork, InsideATaskBesideBusyThreads) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' heaps do not survive a fork beside running threads";
  Engine& engine = runtime().engine;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    std::array<Var, 4> vars;
    for (int i = 0; !stop; ++i) {
      std::array<Var*, 1> writes{&vars[static_cast<size_t>(i) % 4]};
      engine.push({.name = "task", .writes = writes, .cost_ns = 1e5, .may_block = i % 2 == 0}, [] {});
      if (i % 16 == 0) engine.wait_to_write(*writes[0]);
    }
    for (Var& var : vars) engine.wait_to_write(var);
  });
  Var x;
  std::array<Var*, 1> writes{&x};
  std::atomic<int> agreed{0};
  constexpr int kForks = 60;
  for (int i = 0; i < kForks; ++i)
    engine.push({.name = "forks", .writes = writes, .may_block = true}, [&] { agreed += child_agrees(engine_works); });
  engine.wait_to_read(x);
  stop = true;
  other.join();
  EXPECT_EQ(agreed, kForks);
}

TEST(Fork, LoopsAndMemory) {
  const auto works = [] {
    std::atomic<int64_t> sum{0};
    parallel_for(100'000, 100, 1e9, [&](int64_t begin, int64_t end) { sum += end - begin; });
    Allocator& allocator = allocator_of({});
    for (size_t bytes : {100u, 10'000u, 10'000'000u}) allocator.release(allocator.allocate(bytes), bytes);
    return sum == 100'000;
  };
  EXPECT_TRUE(works());
  EXPECT_TRUE(child_agrees(works));
  EXPECT_TRUE(works());
}

TEST(Fork, ErrorsStayOnBothSides) {
  Engine& engine = runtime().engine;
  Var x;
  std::array<Var*, 1> writes{&x};
  engine.push({.name = "fails", .writes = writes, .cost_ns = 1e5}, [] { throw std::runtime_error("boom"); });
  const auto raises = [&] {
    try {
      engine.wait_to_read(x);
    } catch (const std::runtime_error& error) {
      return std::string(error.what()) == "boom";
    }
    return false;
  };
  EXPECT_TRUE(child_agrees(raises));
  EXPECT_TRUE(raises());
}

}  // namespace
}  // namespace headrace
