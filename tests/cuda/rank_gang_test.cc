// Exchanges of GPUs of several ranks by NCCL, with the stand-in for driver and library. Ranks are threads here, each
// with a GPU; tests/python/distributed/test_gpus.py has processes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "backend/cuda/gang_lock.h"
#include "collective/operations.h"
#include "device/rank_gang.h"
#include "device/registry.h"
#include "headrace/arithmetic.hpp"
#include "headrace/devices.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"
#include "tests/support/memory_wire.h"

namespace headrace {
namespace {

using collective::Fold;
using collective::Group;
using collective::on_groups;

constexpr int kRankCount = 3;

Device gpu_of(const Group& group) { return {DeviceType::kGpu, group.rank()}; }

bool lacks_gpus() { return device_count(DeviceType::kGpu) < kRankCount; }

// Of a rank; sums of them are rounded.
NDArray value_of_rank(int rank, const Shape& shape, DType dtype) {
  return varied(shape, dtype, 500 + static_cast<uint64_t>(rank));
}

bool is_connected(Group& group) { return group.gang_for(gpu_of(group)) != nullptr; }

void expect_exchanged(const NDArray& there, const NDArray& here, const Device& device) {
  EXPECT_EQ(there.device(), device);
  EXPECT_EQ(there.shape(), here.shape());
  EXPECT_TRUE(bytes_of(as_in_context(there, {})) == bytes_of(here));
}

// The stand-in adds in the order of the ranks, as the host does.
TEST(CudaRankGangs, SumsHaveTheBitsOfThoseOfTheHost) {
  if (lacks_gpus()) GTEST_SKIP() << "there are fewer than three GPUs";
  on_groups(kRankCount, [](Group& group) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt32,
                              DType::kInt64, DType::kUint8, DType::kInt16}) {
      for (const int64_t count : {0, 1, 1000, 70'001}) {
        const NDArray own = value_of_rank(group.rank(), {count}, dtype);
        const NDArray here = all_reduce(group, "host", Fold::kSum, own);
        expect_exchanged(all_reduce(group, "gpu", Fold::kSum, as_in_context(own, gpu_of(group))), here, gpu_of(group));
      }
    }
    EXPECT_TRUE(is_connected(group));
  });
}

TEST(CudaRankGangs, GiveWhatTheHostGives) {
  if (lacks_gpus()) GTEST_SKIP() << "there are fewer than three GPUs";
  on_groups(kRankCount, [](Group& group) {
    const Device gpu = gpu_of(group);
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt16, DType::kBool}) {
      const NDArray own = value_of_rank(group.rank(), {2 * kRankCount, 501}, dtype);
      const NDArray there = as_in_context(own, gpu);
      for (const Fold fold : {Fold::kSum, Fold::kMax}) {
        if (dtype == DType::kBool) continue;
        expect_exchanged(reduce_scatter(group, "", fold, there), reduce_scatter(group, "", fold, own), gpu);
        expect_exchanged(all_reduce(group, "", fold, there), all_reduce(group, "", fold, own), gpu);
      }
      for (int root = 0; root < group.size(); ++root)
        expect_exchanged(broadcast(group, "", there, root), broadcast(group, "", own, root), gpu);
      expect_exchanged(all_gather(group, "", there), all_gather(group, "", own), gpu);
      const auto rows = [&](const NDArray& of) {
        return call("slice_axis", {of}, {{"axis", int64_t{0}}, {"begin", int64_t{0}}, {"end", int64_t{group.rank()}}});
      };
      expect_exchanged(all_gather(group, "", rows(there)), all_gather(group, "", rows(own)), gpu);
      expect_exchanged(as_in_context(there, {}), own, {});
    }
    EXPECT_TRUE(is_connected(group));
  });
}

TEST(CudaRankGangs, AreThereForOneRank) {
  on_groups(1, [](Group& group) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt32}) {
      const NDArray own = value_of_rank(0, {1000}, dtype);
      expect_exchanged(all_reduce(group, "", Fold::kSum, as_in_context(own, kGpu0)), own, kGpu0);
      expect_exchanged(all_gather(group, "", as_in_context(own, kGpu0)), own, kGpu0);
    }
    EXPECT_TRUE(is_connected(group));
  });
}

// Values are computed before, and read behind; arrays of other GPUs of a rank go by its first one.
TEST(CudaRankGangs, SumsAreInTheOrderOfTheProgram) {
  if (lacks_gpus()) GTEST_SKIP() << "there are fewer than three GPUs";
  on_groups(kRankCount, [](Group& group) {
    const Device other{DeviceType::kGpu, (group.rank() + 1) % kRankCount};
    EXPECT_TRUE(is_connected(group));  // or is to be
    for (int step = 0; step < 10; ++step) {
      std::vector<NDArray> sums(4);
      for (size_t i = 0; i < sums.size(); ++i) {
        const size_t which = group.rank() % 2 == 0 ? i : sums.size() - 1 - i;  // in another order on some
        const Device device = which == 3 ? other : gpu_of(group);
        NDArray value = as_in_context(array(std::vector<float>(5000, static_cast<float>(which + 1))), device);
        for (int twice = 0; twice < 2; ++twice) {
          value = value + value;
          value = all_reduce(group, std::to_string(which), Fold::kSum, value);
        }
        sums[which] = value + value;
      }
      for (size_t which = 0; which < sums.size(); ++which) {
        const float expected = static_cast<float>(which + 1) * 8 * kRankCount * kRankCount;
        expect_exchanged(sums[which], array(std::vector<float>(5000, expected)), which == 3 ? other : gpu_of(group));
      }
    }
    EXPECT_TRUE(is_connected(group));
  });
}

// Whoever has its array on the host, whether the GPUs of the others are connected already or not.
TEST(CudaRankGangs, ArraysOfTheHostHaveAllPassThroughIt) {
  if (lacks_gpus()) GTEST_SKIP() << "there are fewer than three GPUs";
  on_groups(kRankCount, [](Group& group) {
    for (int step = 0; step < 6; ++step) {
      const bool is_here = group.rank() == step % kRankCount;
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt16}) {
        const NDArray own = value_of_rank(group.rank(), {kRankCount, 30'001}, dtype);
        const Device device = is_here ? Device{} : gpu_of(group);
        const NDArray mixed = as_in_context(own, device);
        expect_exchanged(all_reduce(group, "", Fold::kSum, mixed), all_reduce(group, "", Fold::kSum, own), device);
        expect_exchanged(reduce_scatter(group, "", Fold::kSum, mixed), reduce_scatter(group, "", Fold::kSum, own),
                         device);
        expect_exchanged(broadcast(group, "", mixed, 1), broadcast(group, "", own, 1), device);
        expect_exchanged(all_gather(group, "", mixed), all_gather(group, "", own), device);
      }
      if (step != 2) continue;
      const NDArray own = value_of_rank(group.rank(), {100}, DType::kFloat32);
      all_reduce(group, "", Fold::kSum, as_in_context(own, gpu_of(group))).wait_to_read();
    }
    EXPECT_TRUE(is_connected(group));
  });
}

TEST(CudaRankGangs, RanksOfOneGpuPassThroughTheHost) {
  on_groups(2, [](Group& group) {
    for (int step = 0; step < 3; ++step) {
      const NDArray own = value_of_rank(group.rank(), {5000}, DType::kFloat16);
      const NDArray there = all_reduce(group, "", Fold::kSum, as_in_context(own, kGpu0));
      expect_exchanged(there, all_reduce(group, "", Fold::kSum, own), kGpu0);
    }
    EXPECT_EQ(group.gang_for(kGpu0), nullptr);
  });
}

TEST(CudaRankGangs, AnArrayThatFailedFailsTheSumOnAllRanks) {
  if (lacks_gpus()) GTEST_SKIP() << "there are fewer than three GPUs";
  on_groups(kRankCount, [](Group& group) {
    const NDArray matrix = as_in_context(array({-1, 0, 0, -1}, {2, 2}), gpu_of(group));
    const NDArray sum = all_reduce(group, "", Fold::kSum, group.rank() == 1 ? call("linalg_potrf", {matrix}) : matrix);
    try {
      as_in_context(sum, {}).wait_to_read();
      ADD_FAILURE() << "it is a sum";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("positive"), std::string::npos) << error.what();
    }
    const NDArray next = all_reduce(group, "", Fold::kSum, matrix);
    EXPECT_TRUE(bytes_of(as_in_context(next, {})) == bytes_of(array({-3, 0, 0, -3}, {2, 2})));
    EXPECT_TRUE(is_connected(group));
  });
}

// A call of the driver that holds the lock of gangs may wait for the device, and this for a rank that never comes.
TEST(CudaRankGangs, AreAbortedWhileSomebodyWaitsForTheDevice) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  Backend& backend = *backend_of(DeviceType::kGpu);
  RankGang &here = *backend.rank_gang(0), &there = *backend.rank_gang(1);
  const std::string place = here.make_meeting_point();
  here.connect(place, 0, 2);
  there.connect(place, 1, 2);
  while (!here.has_happened() || !there.has_happened()) std::this_thread::yield();
  const NDArray values = as_in_context(array({1, 2, 3}), kGpu0);
  values.wait_to_read();
  RankGang::CallPtr call = here.begin({GangTask::What::kAllReduce, 0, 3, DType::kFloat32}, values.view()->address());
  while (!here.has_happened()) std::this_thread::yield();
  {
    const std::lock_guard waiting(gang_lock());
    here.abort("the other is gone");
    there.abort("the other is gone");
  }
  EXPECT_EQ(here.trouble(), "the other is gone");
  EXPECT_THROW(here.begin({GangTask::What::kAllReduce, 0, 3, DType::kFloat32}, values.view()->address()), Error);
  EXPECT_FALSE(here.is_idle());
  call = nullptr;
  EXPECT_TRUE(here.is_idle());
  backend.await_everybody(0);
}

// In a process of its own: three sums of two ranks, of which the second goes wrong.
void sum_of_ranks_until(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  std::mutex output;
  on_groups(2, [&](Group& group) {
    std::string seen;
    const NDArray kept = as_in_context(array(std::vector<float>(10, 1)), gpu_of(group));
    for (int step = 1; step <= 3; ++step) {
      try {
        const NDArray own = as_in_context(array(std::vector<float>(100, 1)), gpu_of(group));
        as_in_context(all_reduce(group, "", Fold::kSum, own), {}).wait_to_read();
        seen += fmt::format("{} is good. ", step);
      } catch (const Error& error) {
        seen += fmt::format("{}: {} ", step, error.what());
      }
    }
    seen += fmt::format("{} bytes are left. ", bytes_of(as_in_context(kept + kept, {})).size());
    const std::lock_guard guard(output);
    std::cerr << "rank " << group.rank() << ": " << seen << '\n';
    std::cerr.flush();
  });
  std::_Exit(0);
}

// On both ranks, in any order.
std::string failure_of_both(std::string_view what) {
  const std::string one = fmt::format("rank [01]: 1 is good. 2: .*{}.*3: .*{}.*40 bytes are left.*", what, what);
  return one + "[[:space:]]+" + one;
}

TEST(CudaRankGangsDeathTest, ACallThatFailsOnARankFailsOnAll) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_of_ranks_until({{"HEADRACE_STAND_IN_FAIL", "ncclAllReduce:3:2"}}), ::testing::ExitedWithCode(0),
              failure_of_both("ncclAllReduce answered unhandled system error"));
}

TEST(CudaRankGangsDeathTest, ARankThatNeverComesIsNotWaitedForForEver) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_of_ranks_until({{"HEADRACE_STAND_IN_NCCL_STUCK", "2"}}), ::testing::ExitedWithCode(0),
              failure_of_both("remote process exited"));
}

// Nobody says anything.
TEST(CudaRankGangsDeathTest, ASumThatTakesTooLongFails) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(sum_of_ranks_until({{"HEADRACE_STAND_IN_NCCL_STUCK", "2"},
                                  {"HEADRACE_STAND_IN_NCCL_SILENT", "1"},
                                  {"HEADRACE_CUDA_NCCL_SECONDS", "1"}}),
              ::testing::ExitedWithCode(0), failure_of_both("is not complete after 1 seconds"));
}

// Then the host does it.
void sum_of_ranks_by_host(const char* failure) {
  ::setenv("HEADRACE_STAND_IN_FAIL", failure, 1);
  on_groups(2, [](Group& group) {
    const NDArray own = value_of_rank(group.rank(), {1000}, DType::kFloat32);
    const NDArray there = all_reduce(group, "", Fold::kSum, as_in_context(own, gpu_of(group)));
    expect_exchanged(there, all_reduce(group, "", Fold::kSum, own), gpu_of(group));
    EXPECT_FALSE(is_connected(group));
  });
  std::cerr << (::testing::Test::HasFailure() ? "it differs\n" : "it is the sum\n");
  std::_Exit(0);
}

TEST(CudaRankGangsDeathTest, RanksThatAreNotConnectedPassThroughTheHost) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* const failure : {"ncclGetUniqueId:1:2", "ncclCommInitRankConfig:2:2"})
    EXPECT_EXIT(sum_of_ranks_by_host(failure), ::testing::ExitedWithCode(0),
                "pass through the memory of the host: rank [01]: .*answered unhandled system error.*it is the sum");
}

}  // namespace
}  // namespace headrace
