#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/fence.h"
#include "base/function_ref.h"
#include "base/machine.h"
#include "base/slab.h"
#include "base/spin_lock.h"
#include "headrace/dtype.hpp"
#include "headrace/error.hpp"
#include "headrace/shape.hpp"

namespace headrace {
namespace {

// Sets an environment variable for the length of a test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Config, DefaultsWithoutVariables) {
  const Config config = parse_config();
  EXPECT_FALSE(config.serial_engine);
  EXPECT_EQ(config.max_pending, 4096);
}

TEST(Config, ReadsVariables) {
  Environment engine("HEADRACE_ENGINE", "serial"), workers("HEADRACE_WORKERS", "3"),
      trace("HEADRACE_TIMELINE", "/tmp/t.json"), spin("HEADRACE_SPIN_US", "7"), topology("HEADRACE_TOPOLOGY", "pcie4");
  const Config config = parse_config();
  EXPECT_TRUE(config.serial_engine);
  EXPECT_EQ(config.workers, 3);
  EXPECT_EQ(config.trace_path, "/tmp/t.json");
  EXPECT_EQ(config.spin_us, 7);
  EXPECT_EQ(config.topology, "pcie4");
}

TEST(Config, MxnetEngineNames) {
  Environment naive("MXNET_ENGINE_TYPE", "NaiveEngine");
  EXPECT_TRUE(parse_config().serial_engine);
  Environment own("HEADRACE_ENGINE", "threaded");
  EXPECT_FALSE(parse_config().serial_engine);
}

TEST(Config, EmptyVariableIsAsUnset) {
  Environment workers("HEADRACE_WORKERS", "");
  EXPECT_EQ(parse_config().workers, 0);
}

TEST(Config, BadTextsNameTheVariable) {
  for (auto [name, text] : {std::pair{"HEADRACE_WORKERS", "many"}, std::pair{"HEADRACE_WORKERS", "-1"},
                            std::pair{"HEADRACE_WORKERS", "3x"}, std::pair{"HEADRACE_MAX_PENDING", "0"},
                            std::pair{"HEADRACE_ENGINE", "fast"}, std::pair{"HEADRACE_LOG", "loud"}}) {
    Environment variable(name, text);
    try {
      parse_config();
      FAIL() << name << "=" << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kValue);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos);
    }
  }
}

TEST(Config, OpenMpsThreadsAreTheWorkersUnlessTheyAreSaid) {
  const int64_t cores = core_count();
  for (auto [text, workers] : {std::pair<const char*, int64_t>{"1", 1},
                               {"1,4", 1},
                               {"100000", cores},
                               {"0", 0},
                               {"-2", 0},
                               {"many", 0},
                               {"", 0}}) {
    Environment variable("OMP_NUM_THREADS", text);
    EXPECT_EQ(parse_config().workers, workers) << text;
    Environment said("HEADRACE_WORKERS", "3");
    EXPECT_EQ(parse_config().workers, 3) << text;
  }
}

TEST(Config, TableDescribesEveryVariable) {
  for (const ConfigVariable& variable : config_variables()) {
    EXPECT_GT(std::strlen(variable.name), 0u);
    EXPECT_GT(std::strlen(variable.meaning), 0u);
  }
  EXPECT_GE(core_count(), 1);
  EXPECT_GT(physical_memory(), int64_t{1} << 20);
  EXPECT_GT(available_memory(), 0);
  EXPECT_LT(available_memory(), physical_memory());  // this process itself has some
  EXPECT_GE(free_swap(), 0);
}

TEST(Slab, ObjectsAreAlignedDisjointAndReused) {
  for (size_t bytes : {1u, 64u, 65u, 200u, 448u, 1024u, 1025u, 5000u}) {
    std::vector<char*> objects;
    for (int i = 0; i < 500; ++i) {
      char* object = static_cast<char*>(slab_allocate(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(object) % 64, 0u);
      std::memset(object, i, bytes);
      objects.push_back(object);
    }
    for (size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(objects[i][0], static_cast<char>(i));
      EXPECT_EQ(objects[i][bytes - 1], static_cast<char>(i));
    }
    for (char* object : objects) slab_release(object, bytes);
  }
  if (kSlabOnHeap) return;
  void* object = slab_allocate(100);
  slab_release(object, 100);
  EXPECT_EQ(slab_allocate(90), object);
  slab_release(object, 90);
}

// One thread makes, another drops: the memory comes back through the depot instead of growing.
TEST(Slab, ObjectsCirculateBetweenThreads) {
  std::vector<void*> seen;
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> objects;
    for (int i = 0; i < 1000; ++i) objects.push_back(slab_allocate(832));
    seen.insert(seen.end(), objects.begin(), objects.end());
    std::thread([&] {
      for (void* object : objects) slab_release(object, 832);
    }).join();
  }
  std::ranges::sort(seen);
  const auto distinct = std::unique(seen.begin(), seen.end()) - seen.begin();
  if (!kSlabOnHeap) {
    EXPECT_LT(distinct, 3000);
  }
}

TEST(Slab, ConstructorThatThrowsLeaksNothing) {
  struct Thrower {
    Thrower() { throw std::runtime_error("no"); }
  };
  EXPECT_THROW(slab_new<Thrower>(), std::runtime_error);
}

TEST(SmallVector, GrowsByAnElementOfItsOwn) {
  Shape shape{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  shape.resize(40, shape[12]);
  EXPECT_EQ(shape.size(), 40u);
  EXPECT_EQ(shape[39], 13);
}

TEST(DType, NumbersOfNoneHaveAName) { EXPECT_EQ(dtype_name(static_cast<DType>(99)), "unknown dtype"); }

TEST(Clock, TicksGrowAndConvertToNanoseconds) {
  const TickScale scale;
  const uint64_t ticks_before = ticks(), ns_before = steady_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const uint64_t ticks_after = ticks(), ns_after = steady_ns();
  EXPECT_GT(ticks_after, ticks_before);
  const double measured = scale.to_ns(ticks_after) - scale.to_ns(ticks_before);
  const double expected = static_cast<double>(ns_after - ns_before);
  EXPECT_NEAR(measured, expected, 0.2 * expected);
}

TEST(FunctionRef, CallsWhatItRefersTo) {
  int sum = 0;
  auto add = [&sum](int x) { return sum += x; };
  FunctionRef<int(int)> ref = add;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(ref(3), 5);
  const auto twice = [](int x) { return 2 * x; };
  EXPECT_EQ(FunctionRef<int(int)>(twice)(4), 8);
}

TEST(SpinLock, Excludes) {
  SpinLock lock;
  int64_t value = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        lock.lock();
        ++value;
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(value, 20'000);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

// Dekker's pattern: in no round may both sides miss the other's store.
TEST(Fence, LightAndHeavySideNeverBothMiss) {
  std::atomic<int> light_flag{0}, heavy_flag{0}, light_saw{0}, heavy_saw{0};
  std::atomic<int> round{0}, finished{0};
  constexpr int kRounds = 500;
  std::thread light([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round.load(std::memory_order_acquire) < i) std::this_thread::yield();
      light_flag.store(i, std::memory_order_relaxed);
      light_fence();
      light_saw.store(heavy_flag.load(std::memory_order_relaxed) == i, std::memory_order_relaxed);
      finished.fetch_add(1, std::memory_order_release);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    round.store(i, std::memory_order_release);
    heavy_flag.store(i, std::memory_order_relaxed);
    heavy_fence();
    heavy_saw.store(light_flag.load(std::memory_order_relaxed) == i, std::memory_order_relaxed);
    while (finished.load(std::memory_order_acquire) < i) std::this_thread::yield();
    ASSERT_TRUE(light_saw.load() || heavy_saw.load()) << "round " << i;
  }
  light.join();
}

}  // namespace
}  // namespace headrace
