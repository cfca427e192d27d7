// Where sleeping threads wake up.
#include "base/wake_core.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <functional>
#include <future>
#include <thread>

#include "base/machine.h"

namespace headrace {
namespace {

cpu_set_t cores_of(pthread_t thread) {
  cpu_set_t cores;
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof cores, &cores), 0);
  return cores;
}

void bind_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(core), &one);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
}

// A thread that has settled, and leaves when it is told to.
class Sleeper {
 public:
  Sleeper()
      : thread([this] {
          before = cores_of(pthread_self());
          wake_core.settle();
          settled_.set_value();
          woken_.get_future().wait();
          wake_core.leave();
          after = cores_of(pthread_self());
        }) {
    settled_.get_future().wait();
  }
  ~Sleeper() {
    if (thread.joinable()) wake();
  }

  void wake() {
    woken_.set_value();
    thread.join();
  }
  cpu_set_t cores() { return cores_of(thread.native_handle()); }
  bool may_run_on(int core) {
    const cpu_set_t own = cores();
    return CPU_ISSET(static_cast<size_t>(core), &own) != 0;
  }

  WakeCore wake_core;
  cpu_set_t before, after;  // where it could run before it settled, and when it had left

 private:
  std::promise<void> settled_, woken_;

 public:
  std::thread thread;  // the last: it uses what is above
};

// In a thread that may be bound to a core: the one on which `sleeper` has settled, or another one.
void on_core(bool the_same, Sleeper& sleeper, const std::function<void(int core)>& body) {
  std::thread([&] {
    const cpu_set_t all = cores_of(pthread_self());
    int core = 0;
    while (!CPU_ISSET(static_cast<size_t>(core), &all) || sleeper.may_run_on(core) != the_same) ++core;
    bind_to(core);
    body(core);
  }).join();
}

class WakeCoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (core_count() < 2) GTEST_SKIP() << "there is one core";
  }
};

TEST_F(WakeCoreTest, ASleeperIsBoundUntilItLeaves) {
  Sleeper sleeper;
  const cpu_set_t bound = sleeper.cores();
  EXPECT_EQ(CPU_COUNT(&bound), 1);
  sleeper.wake();
  EXPECT_TRUE(CPU_EQUAL(&sleeper.before, &sleeper.after));
}

TEST_F(WakeCoreTest, ItIsKeptOffTheCoreOfWhoeverWakesIt) {
  Sleeper sleeper;
  on_core(true, sleeper, [&](int core) {
    sleeper.wake_core.keep_off_own(sleeper.thread);
    EXPECT_FALSE(sleeper.may_run_on(core));
  });
  const cpu_set_t kept_off = sleeper.cores();
  on_core(false, sleeper, [&](int) {
    sleeper.wake_core.keep_off_own(sleeper.thread);
    const cpu_set_t left = sleeper.cores();
    EXPECT_TRUE(CPU_EQUAL(&left, &kept_off));
  });
  sleeper.wake();
  EXPECT_TRUE(CPU_EQUAL(&sleeper.before, &sleeper.after));
}

TEST_F(WakeCoreTest, ItIsMovedToTheCoreOfWhoeverWakesIt) {
  Sleeper sleeper;
  on_core(false, sleeper, [&](int core) {
    sleeper.wake_core.move_to_own(sleeper.thread);
    EXPECT_TRUE(sleeper.may_run_on(core));
  });
  const cpu_set_t moved = sleeper.cores();
  EXPECT_EQ(CPU_COUNT(&moved), 1);
  sleeper.wake();
  EXPECT_TRUE(CPU_EQUAL(&sleeper.before, &sleeper.after));
}

TEST_F(WakeCoreTest, OneThatHasNotSettledStaysAsItIs) {
  std::promise<void> ends;
  std::thread thread([&] { ends.get_future().wait(); });
  const cpu_set_t before = cores_of(thread.native_handle());
  WakeCore wake_core;
  wake_core.keep_off_own(thread);
  wake_core.move_to_own(thread);
  wake_core.leave();
  const cpu_set_t after = cores_of(thread.native_handle());
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  ends.set_value();
  thread.join();
}

}  // namespace
}  // namespace headrace
