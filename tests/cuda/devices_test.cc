// Memory, copies, streams and failures of the plug-in's GPUs, with the stand-in for the driver.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "backend/cuda/cuda_stream.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/arithmetic.hpp"
#include "headrace/devices.hpp"
#include "headrace/memory.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

NDArray counted(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i % 1000));
  return array(values);
}

// Without printing either of them.
void expect_same(const NDArray& a, const NDArray& b) { EXPECT_TRUE(bytes_of(a) == bytes_of(b)); }

NDArray plus(const NDArray& a, const NDArray& b) { return a + b; }

TEST(CudaDevices, AreCountedAndHaveMemory) {
  EXPECT_EQ(device_count(DeviceType::kGpu), 2);
  ASSERT_NE(accelerator_of(kGpu0), nullptr);
  EXPECT_EQ(accelerator_of(kGpu0)->memory_bytes(), 268435456);
  EXPECT_THROW(accelerator_of({DeviceType::kGpu, 2}), Error);
}

TEST(CudaDevices, CopiesOfAnySizeGoThereAndBack) {
  for (const int64_t count : {0, 1, 3, 1000, 100'000, 6'000'001}) {
    const NDArray here = counted(count);
    const NDArray there = as_in_context(here, kGpu0);
    EXPECT_EQ(there.device(), kGpu0);
    expect_same(as_in_context(there, {}), here);
  }
}

TEST(CudaDevices, PinnedMemoryIsCopiedWithoutStaging) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const Device pinned{DeviceType::kCpuPinned, 0};
  const NDArray here = as_in_context(counted(5000), pinned);
  EXPECT_EQ(here.device(), pinned);
  expect_same(as_in_context(as_in_context(here, kGpu1), pinned), counted(5000));
}

TEST(CudaDevices, DevicesCopyFromEachOther) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const NDArray first = as_in_context(counted(70'000), kGpu0);
  const NDArray second = as_in_context(plus(first, first), kGpu1);
  expect_same(as_in_context(plus(second, second), {}), counted(70'000) * array({4}));
}

// Streams run behind the program and each other; what crosses them waits.
TEST(CudaDevices, OrderHoldsAcrossStreams) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  NDArray there = as_in_context(counted(10'000), kGpu0);
  NDArray here = counted(10'000);
  for (int step = 0; step < 100; ++step) {
    const Device next = step % 2 == 0 ? kGpu1 : kGpu0;
    there = plus(as_in_context(there, next), as_in_context(array({1}), next));
    here = plus(here, array({1}));
    if (step % 10 == 0) there = as_in_context(as_in_context(there, {}), next);
  }
  expect_same(as_in_context(there, {}), here);
}

TEST(CudaDevices, WritesInPlaceAreSeenInOrder) {
  NDArray there = as_in_context(counted(1000), kGpu0);
  const NDArray before = as_in_context(there, {});
  copy_into(there, plus(there, there));
  const NDArray after = as_in_context(there, {});
  expect_same(before, counted(1000));
  expect_same(after, plus(counted(1000), counted(1000)));
}

TEST(CudaDevices, MemoryIsUsedAgainAndRunsOutWithAnError) {
  constexpr int64_t kCount = 8 << 20;  // 32 MiB
  NDArray x = as_in_context(counted(kCount), kGpu0);
  for (int step = 0; step < 40; ++step) x = plus(x, x);  // ten times what the device has
  x.wait_to_read();
  std::vector<NDArray> held;
  for (int i = 0; i < 12; ++i) held.push_back(plus(x, x));
  bool has_failed = false;
  for (const NDArray& one : held) {
    try {
      one.wait_to_read();
    } catch (const Error& error) {
      has_failed = true;
      EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    }
  }
  EXPECT_TRUE(has_failed);
  held.clear();
  EXPECT_NO_THROW(plus(x, x).wait_to_read());
}

TEST(CudaDevices, TheTimelineHasWhatStreamsRan) {
  const NDArray x = as_in_context(counted(1000), kGpu0);
  x.wait_to_read();
  timeline::start();
  NDArray sum = x;
  for (int step = 0; step < 50; ++step) sum = plus(sum, x);
  as_in_context(sum, {}).wait_to_read();
  timeline::stop();
  size_t sums = 0, copies = 0;  // the engine may compute several sums at once
  for (const timeline::Lane& lane : timeline::collect()) {
    if (lane.name == "gpu(0) device to host") copies = lane.events.size();
    if (lane.name != "gpu(0) compute") continue;
    sums = lane.events.size();
    for (double last = 0; const timeline::Event& event : lane.events) {
      EXPECT_LE(event.begin_ns, event.end_ns);
      EXPECT_LE(std::exchange(last, event.end_ns), event.begin_ns + 1000);
    }
  }
  EXPECT_GT(sums, 0u);
  EXPECT_EQ(copies, 1u);
}

TEST(CudaDevices, WhatTheHostComputesFailsLikeThere) {
  const NDArray matrix = as_in_context(array({1, 2, 2, 4}, {2, 2}), kGpu0);
  const NDArray failed = call("linalg_potrf", {as_in_context(array({-1, 0, 0, -1}, {2, 2}), kGpu0)});
  const NDArray behind = plus(failed, matrix);
  EXPECT_THROW(as_in_context(behind, {}).wait_to_read(), Error);
  expect_same(as_in_context(plus(matrix, matrix), {}), array({2, 4, 4, 8}, {2, 2}));
}

// The host takes note of the second copy before the first: both are complete when the launch thread looks again.
TEST(CudaDevices, FailuresReachWhatOtherStreamsMadeOfThem) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const auto may_fail = std::make_shared<std::atomic<bool>>(false);
  const NDArray failed = as_in_context(array({1, 2}), kGpu1);
  Var* var = &failed.view()->storage()->var();
  TaskSpec late{
      .name = "late failure", .writes = {&var, 1}, .cost_ns = Engine::kInlineCostNs, .stream = compute_stream(kGpu1)};
  runtime().engine.push(late, [may_fail, failed] {  // tasks own the arrays that they name
    run_on_device({}, [may_fail] {
      may_fail->wait(false);
      throw Error(ErrorKind::kValue, "it failed late");
    });
  });
  const NDArray here = as_in_context(as_in_context(failed, kGpu0), {});
  var = &here.view()->storage()->var();
  TaskSpec busy{
      .name = "busy launch", .reads = {&var, 1}, .cost_ns = Engine::kInlineCostNs, .stream = compute_stream(kGpu0)};
  runtime().engine.push(busy, [may_fail, here] {
    may_fail->store(true);
    may_fail->notify_all();
    auto& copies = static_cast<CudaStream&>(accelerator_of(kGpu0)->stream(StreamRole::kDeviceToHost));
    copies.tell_all();
    while (copies.has_work()) std::this_thread::yield();
  });
  EXPECT_THROW(here.wait_to_read(), Error);
}

// In a process of its own: everything behind a sticky error is lost, and says why; the host goes on.
void lose_device(const char* failure) {
  ::setenv("HEADRACE_STAND_IN_FAIL", failure, 1);
  const NDArray there = as_in_context(counted(1000), kGpu0);
  NDArray sum = there;
  for (int step = 0; step < 20; ++step) sum = plus(sum, there);
  try {
    as_in_context(sum, {}).wait_to_read();
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
  }
  std::cerr << bytes_of(plus(array({1}), array({1}))).size() << " bytes on the host\n";
  std::_Exit(0);
}

TEST(CudaDevicesDeathTest, StickyErrorsLoseTheDevice) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* failure : {"cuLaunchKernel:7:700", "cuMemcpyHtoDAsync:1:719", "cuStreamQuery:1:214",
                              "cuEventRecord:9:700", "cuStreamWriteValue64:5:719", "cuStreamQuery:1:719"})
    EXPECT_EXIT(
        lose_device(failure), ::testing::ExitedWithCode(0),
        "gpu\\(0\\).*answered CUDA_ERROR_.*It was running .*; HEADRACE_ENGINE=serial tells.*4 bytes on the host");
}

// Each operation is waited for.
TEST(CudaDevicesDeathTest, TheSerialEngineNamesWhatFailed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* failure : {"cuLaunchKernel:7:700", "cuStreamQuery:1:719"}) {
    const auto lose_serially = [&] {
      ::setenv("HEADRACE_ENGINE", "serial", 1);
      lose_device(failure);
    };
    EXPECT_EXIT(lose_serially(), ::testing::ExitedWithCode(0),
                "gpu\\(0\\).*answered CUDA_ERROR_.*It was running [a-z_]*\\.\n4 bytes on the host");
  }
}

// A GPU that another process has for itself alone is none that this one needs.
void use_the_second_gpu_alone() {
  ::setenv("HEADRACE_STAND_IN_FAIL", "cuDevicePrimaryCtxRetain:2:101", 1);
  const NDArray there = as_in_context(counted(1000), kGpu1);
  expect_same(as_in_context(plus(there, there), {}), plus(counted(1000), counted(1000)));
  for (const DeviceMemory& row : memory_report()) std::cerr << to_string(row.device) << ' ';
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(CudaDevicesDeathTest, OnlyGpusThatAreUsedAreOpened) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(use_the_second_gpu_alone(), ::testing::ExitedWithCode(0), "cpu\\(0\\) gpu\\(1\\) cpu_pinned\\(0\\)");
}

TEST(CudaDevicesDeathTest, ChildrenHaveNoGpu) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        as_in_context(counted(10), kGpu0).wait_to_read();
        const pid_t child = ::fork();
        if (child == 0) {
          try {
            as_in_context(counted(10), kGpu0).wait_to_read();
          } catch (const Error& error) {
            std::cerr << error.what() << '\n';
          }
          std::_Exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        as_in_context(counted(10), kGpu0).wait_to_read();
        std::_Exit(status);
      },
      ::testing::ExitedWithCode(0), "made by fork\\(\\)");
}

// An array that is said to have an element more than its memory.
TEST(CudaDevicesDeathTest, WhatAKernelReadsBeyondItsArraysIsSeen) {
  if (kMemoryIsPooled) GTEST_SKIP() << "AddressSanitizer alone sees it";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const NDArray there = as_in_context(counted(1001), kGpu0);
        there.wait_to_read();
        const NDArray longer(ViewPtr(new View(there.view()->storage_ptr(), there.dtype(), Shape{1002})));
        plus(longer, longer).wait_to_read();
      },
      "AddressSanitizer: use-after-poison");
}

}  // namespace
}  // namespace headrace
