#include "device/shared_loop.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/machine.h"

namespace headrace {
namespace {

// Threads that have nothing to do but to join.
class Joiners {
 public:
  explicit Joiners(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this](std::stop_token stop) {
        while (!stop.stop_requested()) joined_ += join_shared_loops();
      });
  }
  int64_t joined() const { return joined_; }

 private:
  std::atomic<int64_t> joined_{0};
  std::vector<std::jthread> threads_;
};

TEST(SharedLoop, EachPieceRunsOnceWhoeverJoins) {
  for (const int joiners : {0, 1, 3}) {
    Joiners others(joiners);
    for (int32_t pieces = 0; pieces < 300; ++pieces) {
      std::vector<int> seen(static_cast<size_t>(pieces));
      share_loop(pieces, [&](int64_t piece) { ++seen[static_cast<size_t>(piece)]; });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(pieces), 1));
    }
  }
}

// The calling thread runs on one core from now on, the one of this place among those that the process may use.
void stay_on_core(int place) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed), 0);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && place-- == 0) CPU_SET(core, &chosen);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof chosen, &chosen), 0);
}

TEST(SharedLoop, ThoseWhoJoinTakePieces) {
  if (core_count() == 1) GTEST_SKIP() << "nobody joins a loop on its owner's core";
  std::atomic<bool> joined{false};
  const std::jthread other([&](std::stop_token stop) {
    stay_on_core(1);
    while (!stop.stop_requested()) join_shared_loops();
  });
  std::jthread([&] {
    stay_on_core(0);
    const std::thread::id own = std::this_thread::get_id();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!joined && std::chrono::steady_clock::now() < end)  // a busy machine may keep the other from its core
      share_loop(4, [&](int64_t) {
        if (std::this_thread::get_id() != own) joined = true;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      });
  }).join();
  EXPECT_TRUE(joined);
}

TEST(SharedLoop, ManyLoopsAtATime) {
  Joiners others(2);
  std::vector<std::jthread> owners;
  std::atomic<int64_t> sum{0};
  for (int owner = 0; owner < 6; ++owner)
    owners.emplace_back([&] {
      for (int round = 0; round < 500; ++round) share_loop(10, [&](int64_t piece) { sum += piece; });
    });
  owners.clear();
  EXPECT_EQ(sum, 6 * 500 * 45);
}

TEST(SharedLoop, WhatABodyThrowsIsRaisedInTheOwner) {
  for (const int64_t thrower : {0, 5, 9}) {
    Joiners other(1);
    for (int round = 0; round < 100; ++round) {
      EXPECT_THROW(share_loop(10,
                              [&](int64_t piece) {
                                if (piece == thrower) throw std::out_of_range("a piece");
                              }),
                   std::out_of_range);
      int64_t after = 0;
      share_loop(1, [&](int64_t) { ++after; });
      EXPECT_EQ(after, 1);
    }
  }
}

TEST(SharedLoop, AChildForgetsLoopsOfOtherThreads) {
  std::atomic<bool> runs{false}, may_end{false};
  std::jthread owner([&] {
    share_loop(2, [&](int64_t) {
      runs = true;
      while (!may_end) std::this_thread::yield();
    });
  });
  while (!runs) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    forget_shared_loops();
    _exit(join_shared_loops());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_end = true;
}

TEST(SharedLoop, LonelyLoopsAskForThreadsEverMoreRarely) {
  const auto loops_until_asked = [] {
    for (int count = 1; count < 1'000'000; ++count) {
      share_loop(2, [](int64_t) {});
      if (shared_loops_lack_threads()) return count;
    }
    return 0;
  };
  EXPECT_GT(loops_until_asked(), 0);  // behind loops of other tests, which may have been left alone for a while
  const int first = loops_until_asked();
  EXPECT_GT(first, 0);
  EXPECT_GT(loops_until_asked(), first);
}

TEST(SharedLoop, NobodyJoinsWhereNothingIsShared) { EXPECT_FALSE(join_shared_loops()); }

}  // namespace
}  // namespace headrace
