// Sums of several GPUs by NCCL, with the stand-in for driver and library.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "backend/cuda/gang_lock.h"
#include "backend/cuda/nccl_library.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/arithmetic.hpp"
#include "headrace/devices.hpp"
#include "headrace/kvstore.hpp"
#include "kvstore/gang_tasks.h"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

using kvstore::find_gang;
using kvstore::run_gang;

constexpr Device kGpu2{DeviceType::kGpu, 2}, kGpu3{DeviceType::kGpu, 3};
constexpr int kMostGpus = 4;

std::vector<Device> gpus_of_gang() {
  std::vector<Device> devices;
  for (int id = 0; id < std::min(device_count(DeviceType::kGpu), kMostGpus); ++id)
    devices.push_back({DeviceType::kGpu, id});
  return devices;
}

void sum_up(const std::vector<NDArray>& arrays) { run_gang(*find_gang(arrays), GangTask::What::kAllReduce, arrays); }

// Small integers, whose sums are exact in every type.
std::vector<NDArray> gradients_of(const std::vector<Device>& devices, int64_t count, DType dtype) {
  std::vector<NDArray> made;
  for (size_t i = 0; i < devices.size(); ++i) {
    std::vector<float> values;
    for (int64_t k = 0; k < count; ++k) values.push_back(static_cast<float>((k + static_cast<int64_t>(i)) % 7));
    made.push_back(as_in_context(cast_to(array(values), dtype), devices[i]));
  }
  return made;
}

NDArray on_host_sum(const std::vector<NDArray>& values) {
  NDArray sum = as_in_context(values[0], {});
  for (size_t i = 1; i < values.size(); ++i) sum = sum + as_in_context(values[i], {});
  return sum;
}

void expect_all_are(const std::vector<NDArray>& arrays, const NDArray& expected) {
  for (const NDArray& one : arrays) EXPECT_TRUE(bytes_of(as_in_context(one, {})) == bytes_of(expected));
}

TEST(CudaGangs, AreThereForSeveralGpusAndNumbers) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const std::vector<NDArray> both = gradients_of({kGpu1, kGpu0}, 3, DType::kFloat32);
  EXPECT_NE(find_gang(both), nullptr);
  EXPECT_EQ(find_gang(both), find_gang(gradients_of({kGpu0, kGpu1}, 5, DType::kFloat16)));
  EXPECT_EQ(find_gang(std::span(both).first(1)), nullptr);
  EXPECT_EQ(find_gang(std::vector{both[0], both[0]}), nullptr);
  EXPECT_EQ(find_gang(std::vector{both[0], array({1, 2, 3})}), nullptr);
  EXPECT_EQ(find_gang(gradients_of({kGpu0, kGpu1}, 0, DType::kFloat32)), nullptr);
  EXPECT_EQ(find_gang(gradients_of({kGpu0, kGpu1}, 3, DType::kInt16)), nullptr);
}

TEST(CudaGangs, TypesAreThoseOfTheLibrary) {
  int sums = 0;
  for (int number = 0; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    sums += nccl_type_of(dtype).has_value();
    EXPECT_EQ(nccl_type_of(dtype).has_value(),
              dtype != DType::kBool && dtype != DType::kInt16 && dtype != DType::kUint16);
  }
  EXPECT_EQ(sums, kDTypeCount - 3);
}

TEST(CudaGangs, StoresSumAsPlansDo) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const std::vector<Device> devices = gpus_of_gang();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt32,
                            DType::kInt64, DType::kUint8, DType::kInt16}) {
    for (const int64_t count : {1, 1000, 70'000}) {
      const auto by_library = kvstore::create("device"), by_plan = kvstore::create("device", {.strategy = "ring"});
      const std::vector<NDArray> first = gradients_of(devices, count, dtype),
                                 second = gradients_of(devices, count, dtype);
      const NDArray expected = on_host_sum(first);
      for (kvstore::KVStore* const store : {by_library.get(), by_plan.get()}) store->init("w", first[0]);
      by_library->pushpull("w", first, first);
      by_plan->pushpull("w", second, second);
      expect_all_are(first, expected);
      expect_all_are(second, expected);
      const std::vector<NDArray> pulled{gradients_of(devices, count, dtype)[1]};
      by_library->pull("w", pulled);
      expect_all_are(pulled, expected);
    }
  }
}

// The root has the sum, or gives what it has; the others keep theirs, or lose it.
TEST(CudaGangs, RootsGetAndGive) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const std::vector<Device> devices = gpus_of_gang();
  for (size_t root = 0; root < devices.size(); ++root) {
    std::vector<NDArray> values = gradients_of(devices, 1000, DType::kFloat32);
    std::swap(values[0], values[1]);  // places are those of the call
    std::vector<NDArray> before;
    for (const NDArray& value : values) before.push_back(as_in_context(value, {}));
    const NDArray sum = on_host_sum(values);
    run_gang(*find_gang(values), GangTask::What::kReduce, values, root);
    for (size_t i = 0; i < values.size(); ++i) expect_all_are({values[i]}, i == root ? sum : before[i]);
    run_gang(*find_gang(values), GangTask::What::kBroadcast, values, root);
    expect_all_are(values, sum);
  }
}

// An error of what is replaced is over; one of what is given is that of all.
TEST(CudaGangs, BroadcastsReplaceArraysThatFailed) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const NDArray failed = call("linalg_potrf", {as_in_context(array({-1, 0, 0, -1}, {2, 2}), kGpu1)});
  const NDArray good = as_in_context(array({1, 2, 3, 4}, {2, 2}), kGpu0);
  run_gang(*find_gang(std::vector{good, failed}), GangTask::What::kBroadcast, std::vector{good, failed}, 0);
  expect_all_are({failed, good}, array({1, 2, 3, 4}, {2, 2}));
  EXPECT_THROW(runtime().engine.wait_all(), Error);
}

// push() and pull() are the halves; updates lie in between. Several arrays of a device, and views, are added there.
TEST(CudaGangs, StoresPushAndPull) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const std::vector<Device> devices = gpus_of_gang();
  const auto store = kvstore::create("nccl");
  store->init("w", as_in_context(array(std::vector<float>(12)), kGpu1));
  std::vector<NDArray> values = gradients_of(devices, 12, DType::kFloat32), twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  const NDArray sum = on_host_sum(twice);
  store->push("w", twice);
  store->pull("w", values);
  expect_all_are(values, sum);
  const auto mean = kvstore::create("device");
  mean->init("w", values[0]);
  mean->set_reduction("mean");
  mean->pushpull("w", values, values);
  expect_all_are(values, sum);
}

// Work before and behind sums, on all devices, and sums of other devices and arrays at the same time.
TEST(CudaGangs, SumsAreInTheOrderOfTheProgram) {
  const std::vector<Device> devices = gpus_of_gang();
  if (devices.size() < 4) GTEST_SKIP() << "there are fewer than four GPUs";
  for (int step = 0; step < 20; ++step) {
    std::vector<NDArray> a = gradients_of({kGpu0, kGpu1}, 5000, DType::kFloat32);
    std::vector<NDArray> b = gradients_of({kGpu2, kGpu1}, 70, DType::kFloat32);
    std::vector<NDArray> c = gradients_of({kGpu3, kGpu0, kGpu2}, 900, DType::kFloat32);
    const NDArray sum_a = on_host_sum(a), sum_b = on_host_sum(b), sum_c = on_host_sum(c);
    for (int again = 0; again < 3; ++again) {
      for (std::vector<NDArray>* const group : {&a, &b, &c}) {
        sum_up(*group);
        for (NDArray& one : *group) one = one + one;
      }
    }
    // Each round sums n equal arrays, or those it began with, and doubles.
    expect_all_are(a, sum_a * array({2 * 4 * 4}));
    expect_all_are(b, sum_b * array({2 * 4 * 4}));
    expect_all_are(c, sum_c * array({2 * 6 * 6}));
  }
}

TEST(CudaGangs, ThreadsOfTheProgramShareThem) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number)
    threads.emplace_back([number] {
      for (int step = 0; step < 10; ++step) {
        const int64_t count = 100 * (number + 1);
        const std::vector<NDArray> values = gradients_of({kGpu0, kGpu1}, count, DType::kFloat32);
        const NDArray expected = on_host_sum(values);
        sum_up(values);
        expect_all_are(values, expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Memory goes back to the driver while sums are on their way.
TEST(CudaGangs, MemoryIsGivenBackBetweenThem) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  constexpr int64_t kCount = 1 << 20;  // more than what shares a slab
  for (int step = 0; step < 10; ++step) {
    const std::vector<NDArray> values = gradients_of({kGpu0, kGpu1}, kCount + step, DType::kUint8);
    sum_up(values);
    allocator_of(kGpu0).trim();
    allocator_of(kGpu1).trim();
  }
  runtime().engine.wait_all();
}

// On any machine with a GPU and NCCL.
TEST(CudaGangs, OneDeviceSumsWhatItHas) {
  const int ids[] = {0};
  Gang* const gang = backend_of(DeviceType::kGpu)->gang(ids);
  ASSERT_NE(gang, nullptr);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt32,
                            DType::kInt64, DType::kUint8, DType::kInt8, DType::kUint32, DType::kUint64}) {
    const std::vector<NDArray> values = gradients_of({kGpu0}, 1000, dtype);
    const NDArray expected = as_in_context(values[0], {});
    run_gang(*gang, GangTask::What::kAllReduce, values);
    const NDArray doubled = values[0] + values[0];
    expect_all_are(values, expected);
    expect_all_are({doubled}, expected + expected);
  }
}

TEST(CudaGangs, AnArrayThatFailedFailsTheSum) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const NDArray failed = call("linalg_potrf", {as_in_context(array({-1, 0, 0, -1}, {2, 2}), kGpu1)});
  const std::vector<NDArray> values{as_in_context(array({1, 2, 3, 4}, {2, 2}), kGpu0), failed};
  sum_up(values);
  EXPECT_THROW(as_in_context(values[0], {}).wait_to_read(), Error);
  const std::vector<NDArray> next = gradients_of({kGpu0, kGpu1}, 8, DType::kFloat32);
  const NDArray expected = on_host_sum(next);
  sum_up(next);
  expect_all_are(next, expected);
}

// In a process of its own: two sums, of which the second goes wrong; a third; and what is left.
void sum_until(const char* variable, const char* value) {
  ::setenv(variable, value, 1);
  const std::vector<NDArray> kept = gradients_of({kGpu0, kGpu1}, 10, DType::kFloat32);
  for (int step = 1; step <= 3; ++step) {
    const std::vector<NDArray> values = gradients_of({kGpu0, kGpu1}, 100, DType::kFloat32);
    sum_up(values);
    for (const NDArray& one : values) {
      try {
        as_in_context(one, {}).wait_to_read();
        std::cerr << step << " is good. ";
      } catch (const Error& error) {
        std::cerr << step << ": " << error.what() << ' ';
      }
    }
  }
  std::cerr << bytes_of(as_in_context(kept[1] + kept[1], {})).size() << " bytes are left\n";
  std::_Exit(0);
}

std::string failure_by(std::string_view what) {
  return fmt::format(
      "1 is good. 1 is good. 2: .*all_reduce of 100 elements of float32 over gpu.0., gpu.1.: .*{}.*"
      "HEADRACE_CUDA_NCCL=none.*2: .*all_reduce.*3: .*all_reduce of 100 .*40 bytes are left",
      what);
}

TEST(CudaGangsDeathTest, CallsThatFailAreErrorsOfTheSum) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_until("HEADRACE_STAND_IN_FAIL", "ncclAllReduce:4:2"), ::testing::ExitedWithCode(0),
              failure_by("ncclAllReduce answered unhandled system error .the stand-in was asked to fail."));
  EXPECT_EXIT(sum_until("HEADRACE_STAND_IN_FAIL", "ncclGroupEnd:2:2"), ::testing::ExitedWithCode(0),
              failure_by("ncclGroupEnd answered unhandled system error"));
}

TEST(CudaGangsDeathTest, ADeviceThatNeverComesIsNotWaitedForForEver) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_until("HEADRACE_STAND_IN_NCCL_STUCK", "2"), ::testing::ExitedWithCode(0),
              failure_by("ncclCommGetAsyncError answered remote process exited"));
}

// A call of the driver that holds the lock of gangs may wait for a device, and this for another that never comes.
void sum_while_somebody_waits() {
  ::setenv("HEADRACE_STAND_IN_NCCL_STUCK", "2", 1);
  const std::vector<NDArray> values = gradients_of({kGpu0, kGpu1}, 100, DType::kFloat32);
  sum_up(values);
  values[1].wait_to_read();
  std::unique_lock waiting(gang_lock());
  sum_up(values);
  waiting.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // in which it is put on the devices
  waiting.lock();
  try {
    values[1].wait_to_read();
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
  }
  std::_Exit(0);
}

TEST(CudaGangsDeathTest, ADeviceThatNeverComesKeepsNobodyWhoWaitsForOthers) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_while_somebody_waits(), ::testing::ExitedWithCode(0), "remote process exited");
}

// Then plans sum.
void sum_by_plan() {
  ::setenv("HEADRACE_STAND_IN_FAIL", "ncclCommInitAll:1:2", 1);
  const std::vector<NDArray> values = gradients_of({kGpu0, kGpu1}, 100, DType::kFloat32);
  const NDArray expected = on_host_sum(values);
  EXPECT_EQ(find_gang(values), nullptr);
  const auto store = kvstore::create("device");
  store->init("w", values[0]);
  store->pushpull("w", values, values);
  expect_all_are(values, expected);
  std::cerr << (::testing::Test::HasFailure() ? "it differs\n" : "it is the sum\n");
  std::_Exit(0);
}

TEST(CudaGangsDeathTest, DevicesThatAreNotConnectedSumByCopies) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_by_plan(), ::testing::ExitedWithCode(0),
              "ncclCommInitAll answered unhandled system error.*it is the sum");
}

}  // namespace
}  // namespace headrace
