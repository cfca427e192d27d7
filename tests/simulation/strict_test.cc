// Strict simulated GPUs: what would go wrong on a real GPU shows. Run with HEADRACE_SIM_STRICT=1.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/config.h"
#include "device/registry.h"
#include "device/scratch.h"
#include "engine/runtime.h"
#include "headrace/autograd.hpp"
#include "headrace/error.hpp"
#include "headrace/sim.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

class StrictTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!config().sim_strict) GTEST_SKIP() << "HEADRACE_SIM_STRICT is not set";
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    sim::configure({.gpus = 2, .clock = sim::Clock::kVirtual});
  }
  void TearDown() override {
    if (!config().sim_strict) return;
    sim::repair();
    try {
      runtime().engine.wait_all();
    } catch (const Error&) {  // what a test left behind on purpose
    }
  }

  static Stream& stream() { return *compute_stream(kGpu0); }
  static char* address_of(const NDArray& array) {
    array.wait_to_read();
    return static_cast<char*>(array.view()->storage()->address());
  }
  // A task on the stream that reads and writes the array.
  template <class Body>
  static void push(const NDArray& array, Body body) {
    Var* const var = &array.view()->storage()->var();
    runtime().engine.push(
        TaskSpec{.name = "test", .reads = {&var, 1}, .writes = {&var, 1}, .stream = compute_stream(array.device())},
        std::move(body));
  }
  static std::vector<float> read(const NDArray& array) {
    std::vector<float> values(static_cast<size_t>(array.size()));
    array.copy_to_host(values.data());
    return values;
  }
};

using StrictDeathTest = StrictTest;

TEST_F(StrictDeathTest, TheHostTouchesNothing) {
  const NDArray x = full({1000}, 1, DType::kFloat32, kGpu1);
  char* const data = address_of(x);
  EXPECT_DEATH(data[4000 - 1] = 0, "host code touched memory of gpu.1. outside of a kernel or copy.*byte 3999");
}

TEST_F(StrictDeathTest, LaunchingIsHostCode) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  x.wait_to_read();  // while device code fills it, it can be touched
  EXPECT_DEATH(
      {
        push(x, [x] { std::memset(x.view()->data(), 0, 4); });
        x.wait_to_read();
      },
      "host code touched memory of gpu.0.");
}

TEST_F(StrictDeathTest, DeviceCodeTouchesWhatItHasDeclared) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  char* const data = address_of(x);
  EXPECT_DEATH(
      {
        push(x, [data] { run_on_device({}, [data] { data[0] = 0; }); });
        x.wait_to_read();
      },
      "device code touched memory of gpu.0. outside of a kernel or copy that it had declared");
}

TEST_F(StrictDeathTest, MemoryThatWasGivenBackIsNamed) {
  char* data = nullptr;
  {
    const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
    data = address_of(x);
  }
  runtime().engine.wait_all();
  EXPECT_DEATH(data[0] = 0, "bytes that has been given back");
}

TEST_F(StrictTest, DeviceCodeRunsWhenItsLaunchIsOver) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  std::atomic<bool> has_returned{false};
  bool had_returned = false;
  std::thread::id launching, running;
  push(x, [&] {
    launching = std::this_thread::get_id();
    run_on_device({}, [&] {
      had_returned = has_returned.load();
      running = std::this_thread::get_id();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    has_returned.store(true);
  });
  x.wait_to_read();
  EXPECT_TRUE(had_returned);
  EXPECT_TRUE(launching != running);
}

TEST_F(StrictTest, DeviceCodeTouchesTheMemoryThatItDeclares) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  push(x, [x] {
    const void* const block = x.view()->storage()->address();
    run_on_device({&block, 1}, [x] { x.view()->data()[3] = 0x40; });
  });
  EXPECT_EQ(read(x)[0], 4.0f);
}

// Until the host has taken note of the end; then it is garbage.
TEST_F(StrictTest, ScratchStaysAsLongAsTheLaunch) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  x.wait_to_read();
  const MemoryStats before = allocator_of(kGpu0).stats();
  std::atomic<int> seen{0};
  push(x, [&seen] {
    const ScratchBlock block = take_scratch(kMegabyte);
    void* const scratch = block.data;
    run_on_device({&scratch, 1}, [scratch] { std::memset(scratch, 7, kMegabyte); });
    give_back_scratch(block);  // what comes behind may have it
    run_on_device({&scratch, 1}, [&seen, scratch] { seen = static_cast<const char*>(scratch)[kMegabyte - 1]; });
  });
  x.wait_to_read();
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(allocator_of(kGpu0).stats().live, before.live);
  int garbage = 0;
  push(x, [&garbage] {
    void* const scratch = take_scratch(kMegabyte).data;
    run_on_device({&scratch, 1}, [&garbage, scratch] { garbage = static_cast<const unsigned char*>(scratch)[5]; });
  });
  x.wait_to_read();
  EXPECT_EQ(garbage, 0xFF);
}

TEST_F(StrictTest, MemoryThatHasBeenGivenBackCannotBeDeclared) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  push(x, [] {
    void* const block = allocator_of(kGpu0).allocate(100);
    allocator_of(kGpu0).release(block, 100);
    run_on_device({&block, 1}, [] {});
  });
  try {
    x.wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory that has been given back"), std::string::npos) << error.what();
  }
}

// The launch thread, which alone can release it, finds the memory by itself.
TEST_F(StrictTest, ShortMemoryIsFoundAgain) {
  sim::set_memory(kGpu0, 4 * kMegabyte);
  NDArray sum = full({kMegabyte / 4}, 0, DType::kFloat32, kGpu0);
  for (int i = 0; i < 200; ++i) sum = call("elemwise_add", {sum, full(sum.shape(), 1, DType::kFloat32, kGpu0)});
  EXPECT_EQ(read(sum).back(), 200.0f);
}

TEST_F(StrictTest, AnErrorOfDeviceCodeBelongsToItsTask) {
  const NDArray x = full({10}, 1, DType::kFloat32, kGpu0);
  bool has_run = false;
  push(x, [&has_run] {
    run_on_device({}, [] { throw Error(ErrorKind::kIndex, "too far"); });
    run_on_device({}, [&has_run] { has_run = true; });
  });
  EXPECT_THROW(read(x), Error);
  EXPECT_FALSE(has_run);
  EXPECT_THROW(read(call("elemwise_add", {x, x})), Error);
}

TEST_F(StrictTest, PackedOperandsOutliveTheLaunch) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const NDArray x = NDArray::from_host(values.data(), {2, 3}, DType::kFloat32, kGpu0);
  const NDArray y = call("dot", {call("transpose", {x}), x});
  EXPECT_EQ(read(y), (std::vector<float>{17, 22, 27, 22, 29, 36, 27, 36, 45}));
}

TEST_F(StrictTest, AForkedChildHasNoDevice) {
  const NDArray x = full({4}, 1, DType::kFloat32, kGpu0);
  x.wait_to_read();
  const pid_t child = fork();
  if (child == 0) {
    int agreed = 0;
    const auto is_refused = [&](auto&& use) {
      try {
        use();
      } catch (const Error& error) {
        agreed += std::string(error.what()).find("made by fork()") != std::string::npos;
      }
    };
    is_refused([] { full({4}, 1, DType::kFloat32, kGpu0); });
    is_refused([&] { call("elemwise_add", {x, x}); });
    is_refused([&] { read(x); });
    agreed += read(full({4}, 1, DType::kFloat32, Device{})).back() == 1.0f;
    _exit(agreed);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(read(x).back(), 1.0f);
}

}  // namespace
}  // namespace headrace
