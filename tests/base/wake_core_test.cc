// Where sleeping threads wake up.
#include "base/wake_core.h"

#include <gtest/gtest.h>
#include <pthread.h>

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

TEST(WakeCore, AThreadIsKeptOffTheCoreOfWhoeverWakesItUntilItLeaves) {
  WakeCore wake_core;
  cpu_set_t after;
  std::promise<void> entered, woken;
  std::thread sleeper([&] {
    wake_core.enter();
    entered.set_value();
    woken.get_future().wait();
    wake_core.leave();
    after = cores_of(pthread_self());
  });
  const cpu_set_t before = cores_of(sleeper.native_handle());
  entered.get_future().wait();
  wake_core.keep_off_own();
  const cpu_set_t bound = cores_of(sleeper.native_handle());
  EXPECT_EQ(CPU_COUNT(&bound), core_count() > 1 ? CPU_COUNT(&before) - 1 : CPU_COUNT(&before));
  woken.set_value();
  sleeper.join();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(WakeCore, OneThatNobodyKeepsOffStaysAsItIs) {
  const cpu_set_t before = cores_of(pthread_self());
  WakeCore().leave();
  const cpu_set_t after = cores_of(pthread_self());
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace headrace
