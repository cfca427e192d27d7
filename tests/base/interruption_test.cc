#include "base/interruption.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace headrace {
namespace {

struct Stop {};

class InterruptionTest : public testing::Test {
 protected:
  void wait() {
    std::unique_lock lock(mutex_);
    try {
      interruptible_wait(changed_, lock, [this] { return is_there_; });
    } catch (const Stop&) {
      EXPECT_TRUE(lock.owns_lock());
      throw;
    }
  }
  void come() {
    std::lock_guard guard(mutex_);
    is_there_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = false;
};

TEST_F(InterruptionTest, WhatACheckThrowsEndsAWait) {
  const Interruptible interruptible([] { throw Stop(); });
  EXPECT_THROW(wait(), Stop);
  come();
  wait();
}

TEST_F(InterruptionTest, ChecksAreMadeWithoutTheLock) {
  static std::function<void()> check;
  check = [this] { come(); };
  const Interruptible interruptible([] { check(); });
  wait();
}

TEST_F(InterruptionTest, AThreadIsInterruptedInItsScopeAlone) {
  {
    const Interruptible outer([] { throw Stop(); });
    {
      const Interruptible inner(nullptr);
      std::thread comes([this] { come(); });
      wait();
      comes.join();
    }
    is_there_ = false;
    EXPECT_THROW(wait(), Stop);
    std::thread other([] { EXPECT_EQ(Interruptible::current(), nullptr); });
    other.join();
  }
  EXPECT_EQ(Interruptible::current(), nullptr);
}

}  // namespace
}  // namespace headrace
