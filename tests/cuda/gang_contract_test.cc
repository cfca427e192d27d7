// What the stand-in for NCCL does not let pass, so that tests which pass on it say something.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/nccl_library.h"
#include "device/registry.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

constexpr size_t kContractElements = 100;

// Two GPUs that NCCL connects, with a stream and a block each.
struct NcclPair {
  NcclPair() {
    const int ids[] = {0, 1};
    EXPECT_EQ(library.comm_init_all(comms.data(), 2, ids), NcclResult::kSuccess);
    const std::lock_guard guard(gang_lock());
    for (size_t i = 0; i < streams.size(); ++i) streams[i] = cuda_backend().device(ids[i]).gang_stream();
  }

  NcclResult sum(size_t comm, size_t block, size_t stream, size_t elements = kContractElements) const {
    return library.all_reduce(blocks[block], blocks[block], elements, NcclType::kFloat32, NcclFold::kSum, comms[comm],
                              streams[stream]);
  }
  void sum_both(size_t first, size_t second) const {
    library.group_start();
    sum(0, 0, 0, first);
    sum(1, 1, 1, second);
    library.group_end();
  }

  const NcclLibrary& library = *nccl_library();
  std::array<NcclComm, 2> comms{};
  std::array<CUstream, 2> streams{};
  const std::array<void*, 2> blocks{allocator_of(kGpu0).allocate(kContractElements * sizeof(float)),
                                    allocator_of(kGpu1).allocate(kContractElements * sizeof(float))};
};

// What a stream finds ends the process.
[[noreturn]] void await_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

class CudaGangsContractDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(CudaGangsContractDeathTest, CallsAreInGroupsOfAllDevices) {
  EXPECT_DEATH(NcclPair().sum(0, 0, 0), "ncclAllReduce of one of several devices outside of a group");
  EXPECT_DEATH(
      {
        const NcclPair pair;
        pair.library.group_start();
        pair.sum(0, 0, 0);
        pair.library.group_end();
      },
      "ncclGroupEnd of a group that has calls of 1 of the 2 devices");
  EXPECT_DEATH(
      {
        const NcclPair pair;
        pair.library.group_start();
        pair.sum(0, 0, 0);
        pair.sum(0, 0, 0);
        pair.sum(1, 1, 1);
        pair.library.group_end();
      },
      "different numbers of calls");
}

TEST_F(CudaGangsContractDeathTest, MemoryAndStreamsAreThoseOfTheDevice) {
  EXPECT_DEATH(
      {
        const NcclPair pair;
        pair.library.group_start();
        pair.sum(0, 1, 0);
      },
      "memory that is not that of the communicator's device");
  EXPECT_DEATH(
      {
        const NcclPair pair;
        pair.library.group_start();
        pair.sum(0, 0, 1);
      },
      "on a stream of another device");
}

TEST_F(CudaGangsContractDeathTest, DevicesAgree) {
  EXPECT_DEATH(
      {
        NcclPair().sum_both(kContractElements, kContractElements - 1);
        await_the_end();
      },
      "ncclAllReduce of [0-9]+ elements.*but ncclAllReduce of [0-9]+");
}

TEST_F(CudaGangsContractDeathTest, MemoryStaysUntilAllAreDone) {
  EXPECT_DEATH(
      {
        ::setenv("HEADRACE_STAND_IN_NCCL_STUCK", "1", 1);
        const NcclPair pair;
        CudaDevice& device = cuda_backend().device(0);
        const ContextScope scope(device);
        CUdeviceptr block = 0;
        device.driver().mem_alloc(&block, kContractElements * sizeof(float));
        pair.library.group_start();
        pair.library.all_reduce(reinterpret_cast<void*>(block), reinterpret_cast<void*>(block), kContractElements,
                                NcclType::kFloat32, NcclFold::kSum, pair.comms[0], pair.streams[0]);
        pair.sum(1, 1, 1);
        pair.library.group_end();
        device.driver().mem_free(block);
      },
      "cuMemFree of memory that queued work still uses");
}

// The first waits for ever when the second comes.
void sum_on_other_streams() {
  ::setenv("HEADRACE_STAND_IN_NCCL_STUCK", "1", 1);
  NcclPair first, second;
  first.sum_both(kContractElements, kContractElements);
  for (size_t i = 0; i < second.streams.size(); ++i) {
    CudaDevice& device = cuda_backend().device(static_cast<int>(i));
    const ContextScope scope(device);
    device.driver().stream_create_with_priority(&second.streams[i], CU_STREAM_NON_BLOCKING, 0);
  }
  second.sum_both(kContractElements, kContractElements);
}

TEST_F(CudaGangsContractDeathTest, ADeviceHasOneStreamForAllCommunicators) {
  EXPECT_DEATH(sum_on_other_streams(), "collectives of two communicators on different streams of a device");
}

// Two GPUs of which each is a rank, in one process.
struct NcclRanks {
  explicit NcclRanks(bool awaits = true) {
    NcclId id{};
    library.get_unique_id(&id);
    for (int rank = 0; rank < 2; ++rank) join(id, rank, rank);
    while (awaits && !(is_over(0) && is_over(1))) std::this_thread::yield();
  }
  void join(const NcclId& id, int rank, int device) {
    const std::lock_guard guard(gang_lock());
    CudaDevice& of = cuda_backend().device(device);
    const OwnContextScope scope(of);
    NcclConfig options;
    options.blocking = 0;
    EXPECT_EQ(library.comm_init_rank_config(&comms[static_cast<size_t>(rank)], 2, id, rank, &options),
              NcclResult::kInProgress);
    streams[static_cast<size_t>(rank)] = of.gang_stream();
  }
  bool is_over(size_t rank) {
    NcclResult error = NcclResult::kInProgress;
    library.comm_get_async_error(comms[rank], &error);
    return error == NcclResult::kSuccess;
  }
  void sum(size_t rank, size_t elements) {
    library.all_reduce(blocks[rank], blocks[rank], elements, NcclType::kFloat32, NcclFold::kSum, comms[rank],
                       streams[rank]);
  }

  const NcclLibrary& library = *nccl_library();
  std::array<NcclComm, 2> comms{};
  std::array<CUstream, 2> streams{};
  const std::array<void*, 2> blocks{allocator_of(kGpu0).allocate(kContractElements * sizeof(float)),
                                    allocator_of(kGpu1).allocate(kContractElements * sizeof(float))};
};

class CudaRankGangsContractDeathTest : public CudaGangsContractDeathTest {};

TEST_F(CudaRankGangsContractDeathTest, RanksAgree) {
  EXPECT_DEATH(
      {
        NcclRanks ranks;
        ranks.sum(0, kContractElements);
        ranks.sum(1, kContractElements - 1);
        await_the_end();
      },
      "ncclAllReduce of [0-9]+ elements.*but ncclAllReduce of [0-9]+");
  EXPECT_DEATH(
      {
        NcclRanks ranks;
        ranks.sum(0, kContractElements);
        ranks.library.broadcast(ranks.blocks[1], ranks.blocks[1], kContractElements, NcclType::kFloat32, 0,
                                ranks.comms[1], ranks.streams[1]);
        await_the_end();
      },
      "but ncclAllReduce of|but ncclBroadcast of");
}

TEST_F(CudaRankGangsContractDeathTest, OneThingComesAfterTheOther) {
  EXPECT_DEATH(NcclRanks(false).sum(0, kContractElements), "ncclAllReduce before what was asked for last is over");
  EXPECT_DEATH(
      {
        NcclRanks ranks;
        ranks.sum(0, kContractElements);
        ranks.sum(0, kContractElements);
      },
      "ncclAllReduce before what was asked for last is over");
}

TEST_F(CudaRankGangsContractDeathTest, AMeetingIsOfEachRankOnce) {
  EXPECT_DEATH(
      {
        NcclId id{};
        nccl_library()->get_unique_id(&id);
        NcclRanks ranks;
        ranks.join(id, 0, 0);
        ranks.join(id, 0, 1);
      },
      "ncclCommInitRankConfig of rank 0, which is there");
}

TEST_F(CudaRankGangsContractDeathTest, MemoryStaysUntilTheSumIsOver) {
  EXPECT_DEATH(
      {
        NcclRanks ranks;
        CudaDevice& device = cuda_backend().device(0);
        const ContextScope scope(device);
        CUdeviceptr block = 0;
        device.driver().mem_alloc(&block, kContractElements * sizeof(float));
        void* const there = reinterpret_cast<void*>(block);
        ranks.library.all_reduce(there, there, kContractElements, NcclType::kFloat32, NcclFold::kSum, ranks.comms[0],
                                 ranks.streams[0]);
        device.driver().mem_free(block);
      },
      "cuMemFree of memory that queued work still uses");
}

}  // namespace
}  // namespace headrace
