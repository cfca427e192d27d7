#include "backend/cpu/parallel.h"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "tests/support/busy_cores.h"

namespace headrace {
namespace {

constexpr double kDear = 1e9;

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 2, 7, 1000, 12345}) {
    for (int64_t grain : {1, 10, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for(n, grain, kDear, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        if (end != n) {
          EXPECT_GE(end - begin, grain);
        }
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelFor, RangesBeginAtMultiplesOfTheGrain) {
  for (double cost : {50'000.0, 3e5, kDear})
    for (int64_t grain : {1, 7, 64, 5000})
      parallel_for(12'345, grain, cost, [&](int64_t begin, int64_t) { EXPECT_EQ(begin % grain, 0); });
}

TEST(ParallelFor, CheapLoopIsOneCallInThisThread) {
  int calls = 0;
  parallel_for(1000, 1, 1000, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 1000);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelFor, ShortLoopIsDividedForThoseWhoJoin) {
  std::vector<int> seen(1000);
  int calls = 0;
  parallel_for(1000, 10, 50'000, [&](int64_t begin, int64_t end) {
    ++calls;
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_EQ(calls > 1, core_count() > 1);
}

TEST(ParallelFor, ExceptionsArePassedOn) {
  for (double cost : {0.0, kDear}) {
    EXPECT_THROW(parallel_for(100, 1, cost,
                              [](int64_t begin, int64_t end) {
                                if (begin <= 50 && 50 < end) throw std::out_of_range("50");
                              }),
                 std::out_of_range);
  }
}

TEST(ParallelFor, WidthFollowsCostAndIdleCores) {
  EXPECT_EQ(threads_for(0), 1);
  EXPECT_EQ(threads_for(60'000), 1);
  EXPECT_LE(threads_for(kDear), core_count());
  EXPECT_FALSE(wide_loop_runs());
}

TEST(ParallelFor, WidensWhenCoresBecomeIdle) {
  if (width_for(kDear) == 1) GTEST_SKIP() << "loops never use several threads here";
  BusyCores busy;
  std::vector<std::atomic<int>> seen(1000);
  std::atomic<int> calls{0}, wide_calls{0};
  parallel_for(1000, 1, kDear, [&](int64_t begin, int64_t end) {
    wide_calls += wide_loop_runs();
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    if (++calls == 3) busy.end();
  });
  for (auto& count : seen) EXPECT_EQ(count, 1);
  EXPECT_EQ(wide_calls, calls - 3);
}

TEST(ParallelFor, NestedLoops) {
  std::atomic<int> sum{0};
  parallel_for(8, 1, kDear, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(100, 10, kDear, [&](int64_t b, int64_t e) { sum += static_cast<int>(e - b); });
  });
  EXPECT_EQ(sum, 800);
}

// Loops of different threads do not wait for each other's arenas.
TEST(RunInArena, SeveralThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      run_in_arena_of(1, [&] {
        ++inside;
        while (inside < kThreads) std::this_thread::yield();
      });
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(inside, kThreads);
}

// A library that divides its sums by the room that it sees gives the same results whatever else runs.
TEST(RunInArena, RoomDoesNotDependOnIdleCores) {
  const int width = width_for(kDear);
  if (width == 1) GTEST_SKIP() << "loops never use several threads here";
  EXPECT_EQ(width, core_count());
  std::set<std::thread::id> served;
  std::mutex mutex;
  const auto look = [&] {
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(), width);
    served.clear();
    tbb::parallel_for(
        0, 1000,
        [&](int) {
          std::lock_guard guard(mutex);
          served.insert(std::this_thread::get_id());
        },
        tbb::static_partitioner());
  };
  run_in_arena_of(width, look);
  const BusyCores busy;
  EXPECT_EQ(threads_for(kDear), 1);
  EXPECT_EQ(width_for(kDear), width);
  run_in_arena_of(width, look);
  EXPECT_EQ(served, std::set{std::this_thread::get_id()});
}

TEST(RunInArena, PassesExceptionsOn) {
  EXPECT_THROW(run_in_arena_of(width_for(kDear), [] { throw std::runtime_error("inside"); }), std::runtime_error);
}

}  // namespace
}  // namespace headrace
