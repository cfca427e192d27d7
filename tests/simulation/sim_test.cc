// Arrays on simulated GPUs, from the outside.
#include "headrace/sim.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/autograd.hpp"
#include "headrace/devices.hpp"
#include "headrace/error.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "tests/support/gpus.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

class SimTest : public ::testing::Test {
 protected:
  SimTest() { sim::configure({.gpus = 2, .clock = sim::Clock::kVirtual}); }
  ~SimTest() override {
    sim::repair();
    try {
      runtime().engine.wait_all();
    } catch (const Error&) {  // what a test left behind on purpose
    }
  }

  static NDArray numbers(int64_t count, Device device) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.f);
    return NDArray::from_host(values.data(), {count}, DType::kFloat32, device);
  }
  static std::vector<float> read(const NDArray& array) {
    std::vector<float> values(static_cast<size_t>(array.size()));
    array.copy_to_host(values.data());
    return values;
  }
};

TEST_F(SimTest, ArraysGoThereAndBack) {
  const NDArray x = numbers(5, kGpu0);
  EXPECT_EQ(x.device(), kGpu0);
  EXPECT_EQ(read(x), (std::vector<float>{0, 1, 2, 3, 4}));
  const NDArray y = call("elemwise_add", {x, x});
  EXPECT_EQ(y.device(), kGpu0);
  EXPECT_EQ(read(y), (std::vector<float>{0, 2, 4, 6, 8}));
  EXPECT_EQ(call("_reshape_to", {y}, {{"shape", Shape{1, 5}}}).device(), kGpu0);
}

TEST_F(SimTest, StridedViewsAreCopiedBack) {
  const NDArray x = call("_reshape_to", {numbers(12, kGpu1)}, {{"shape", Shape{3, 4}}});
  const NDArray turned = call("transpose", {x});
  EXPECT_EQ(read(turned), (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST_F(SimTest, CopiesBetweenGpus) {
  const NDArray x = numbers(1000, kGpu0), y = NDArray::empty({1000}, DType::kFloat32, kGpu1);
  copy_into(y, x);
  EXPECT_EQ(read(y), read(x));
  const NDArray halves = NDArray::empty({1000}, DType::kFloat16, kGpu1);
  copy_into(halves, x);
  EXPECT_EQ(read(cast_to(halves, DType::kFloat32)), read(x));
}

TEST_F(SimTest, TheHostCannotTouchTheMemory) {
  const NDArray x = numbers(3, kGpu0);
  x.wait_to_read();
  try {
    x.view()->data();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory of gpu(0) was touched from cpu(0)"), std::string::npos);
  }
}

TEST_F(SimTest, DevicesDoNotMix) {
  EXPECT_THROW(call("elemwise_add", {numbers(3, kGpu0), numbers(3, kGpu1)}), Error);
  EXPECT_THROW(call("elemwise_add", {numbers(3, kGpu0), numbers(3, {})}), Error);
}

TEST_F(SimTest, MoreGpusThanThereAre) {
  try {
    NDArray::empty({1}, DType::kFloat32, {DeviceType::kGpu, 2});
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("HEADRACE_SIM_GPUS"), std::string::npos);
  }
}

TEST_F(SimTest, AFailedCopyIsKeptOnWhatItWouldHaveWritten) {
  const NDArray x = numbers(10, kGpu0);
  x.wait_to_read();
  sim::fail_copy(kGpu1);
  const NDArray y = copied_to(x, kGpu1);
  EXPECT_THROW(y.wait_to_read(), Error);
  EXPECT_THROW(read(call("elemwise_add", {y, y})), Error);
  EXPECT_EQ(read(x).size(), 10u);
  EXPECT_EQ(read(copied_to(x, kGpu1)), read(x));
}

// A fault belongs to the GPU on either side of a copy.
TEST_F(SimTest, TheSenderOfACopyCanFailToo) {
  const NDArray x = numbers(10, kGpu0);
  x.wait_to_read();
  sim::fail_copy(kGpu0, 1);
  const NDArray whole = copied_to(x, kGpu1), failed = copied_to(x, kGpu1);
  EXPECT_EQ(read(whole)[9], 9.f);
  EXPECT_THROW(failed.wait_to_read(), Error);
  EXPECT_EQ(read(x)[9], 9.f);
}

TEST_F(SimTest, NothingComesFromALostGpu) {
  const NDArray x = numbers(4, kGpu1), existing = numbers(4, kGpu0);
  x.wait_to_read();
  existing.wait_to_read();
  sim::lose(kGpu1);
  EXPECT_THROW(copied_to(x, kGpu0).wait_to_read(), Error);
  copy_into(existing, x);
  EXPECT_THROW(existing.wait_to_read(), Error);
  EXPECT_THROW(read(x), Error);
}

TEST_F(SimTest, ARepairedGpuIsEmpty) {
  const NDArray x = numbers(1000, kGpu1), y = numbers(1000, kGpu0);
  x.wait_to_read();
  y.wait_to_read();
  Allocator& memory = allocator_of(kGpu1);
  EXPECT_GE(memory.stats().live, 4000);
  sim::lose(kGpu1);
  sim::repair();
  EXPECT_EQ(memory.stats().live, 0);
  try {
    read(x);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("gpu(1): the device was lost"), std::string::npos) << error.what();
  }
  EXPECT_THROW(read(call("elemwise_add", {x, x})), Error);
  EXPECT_THROW(copied_to(x, kGpu0).wait_to_read(), Error);
  EXPECT_EQ(read(y)[999], 999.f);
  {
    const NDArray z = numbers(1000, kGpu1);
    EXPECT_EQ(read(call("elemwise_add", {z, z}))[999], 1998.f);
    EXPECT_EQ(read(copied_to(z, kGpu0))[999], 999.f);
  }
  // What was not lost stays through a repair.
  sim::lose(kGpu1);
  sim::repair();
  EXPECT_EQ(read(y)[999], 999.f);
}

TEST_F(SimTest, ArraysOfALostGpuGiveTheirMemoryBack) {
  sim::set_memory(kGpu0, 1 << 20);
  NDArray x = full({200'000}, 1, DType::kFloat32, kGpu0);
  x.wait_to_read();
  sim::lose(kGpu0);
  sim::repair();
  sim::set_memory(kGpu0, 1 << 20);
  const NDArray y = full({200'000}, 2, DType::kFloat32, kGpu0);  // both would not fit
  EXPECT_EQ(read(y)[0], 2.f);
  x = y;
  EXPECT_GE(allocator_of(kGpu0).stats().live, 800'000);
  EXPECT_EQ(read(y)[199'999], 2.f);
}

// Nothing waits for an hour.
TEST_F(SimTest, AStallTakesVirtualTime) {
  const NDArray x = numbers(4, kGpu0);
  x.wait_to_read();
  sim::stall(kGpu0, 3600);
  const double begin = sim::now();
  call("elemwise_add", {x, x}).wait_to_read();
  EXPECT_GE(sim::now() - begin, 3600);
  EXPECT_LT(sim::now() - begin, 3600.001);
  sim::stall(kGpu0, 3600);
  sim::repair();
  call("elemwise_add", {x, x}).wait_to_read();
  EXPECT_LT(sim::now() - begin, 3600.001);
}

TEST_F(SimTest, MemoryThatRunsOutIsAnErrorOfTheArray) {
  sim::set_memory(kGpu0, 1 << 20);
  const NDArray small = numbers(1000, kGpu0);
  const NDArray big = full({1 << 20}, 1, DType::kFloat32, kGpu0);
  try {
    big.wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string(error.what()).find("gpu(0): out of memory"), std::string::npos);
  }
  EXPECT_EQ(read(small)[999], 999.f);
}

// A long program holds no more than what runs: released memory is used again.
TEST_F(SimTest, MemoryFollowsWhatRuns) {
  sim::set_memory(kGpu0, 64 << 20);
  NDArray x = full({1 << 20}, 0, DType::kFloat32, kGpu0);
  for (int i = 0; i < 200; ++i) x = call("elemwise_add", {x, full({1 << 20}, 1, DType::kFloat32, kGpu0)});
  EXPECT_EQ(read(x)[0], 200.f);
}

TEST_F(SimTest, ALostGpuLeavesTheOthers) {
  const NDArray x = numbers(4, kGpu0), y = numbers(4, kGpu1);
  y.wait_to_read();
  sim::lose(kGpu0);
  EXPECT_THROW(read(x), Error);
  EXPECT_EQ(read(y), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(SimTest, OptionsThatMakeNoSense) {
  EXPECT_THROW(sim::configure({.gpus = -1}), Error);
  EXPECT_THROW(sim::configure({.gpus = 65}), Error);
  EXPECT_THROW(sim::configure({.gpus = 5, .topology = "pcie4"}), Error);
  EXPECT_THROW(sim::configure({.topology = "no such topology"}), Error);
  EXPECT_THROW(sim::fail_copy({DeviceType::kGpu, 7}), Error);
  EXPECT_THROW(sim::stall(kGpu0, -1), Error);
  EXPECT_THROW(sim::stall(kGpu0, 3600.1), Error);
  EXPECT_THROW(sim::advance(-1), Error);
  EXPECT_THROW(sim::advance(1e6 + 1), Error);
  sim::advance(1e6);
  const NDArray x = numbers(4, kGpu1);
  EXPECT_THROW(sim::configure({.gpus = 1}), Error);  // it would take x away
  EXPECT_EQ(read(x).size(), 4u);
  EXPECT_EQ(sim::options().gpus, 2);
}

TEST_F(SimTest, CopiesTakeTheTimeOfTheirLinks) {
  sim::configure({.gpus = 2, .topology = "pcie4"});
  const NDArray x = full({25'000'000}, 1, DType::kFloat32, kGpu0);  // 100 MB: 6.25 ms at 16 GB/s
  x.wait_to_read();
  const auto begin = std::chrono::steady_clock::now();
  copied_to(x, kGpu1).wait_to_read();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(6250));
}

TEST_F(SimTest, TheTimelineHasLinksOnTheRealClock) {
  sim::configure({.gpus = 2, .topology = "pcie4"});
  const NDArray x = numbers(4, kGpu0);
  x.wait_to_read();
  timeline::start();
  copied_to(x, kGpu1).wait_to_read();
  runtime().engine.wait_all();
  timeline::stop();
  std::vector<std::string> lanes;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Event& event : lane.events) {
      if (lane.group != "links") continue;
      lanes.push_back(lane.name + ": " + event.name);
      EXPECT_EQ(lane.clock, timeline::Clock::kTicks);
      EXPECT_GT(event.end_ns, event.begin_ns);
    }
  std::ranges::sort(lanes);
  EXPECT_EQ(lanes, (std::vector<std::string>{"gpu0>switch: copy", "switch>gpu1: copy"}));
}

TEST_F(SimTest, GradientsFlowThroughCopies) {
  NDArray x = numbers(3, kGpu0);
  autograd::attach_grad(x);
  NDArray loss;
  {
    autograd::RecordScope scope;
    const NDArray there = copyto(x, kGpu1);
    loss = call("sum", {call("broadcast_mul", {there, there})});
  }
  EXPECT_EQ(loss.device(), kGpu1);
  autograd::backward(loss);
  const NDArray gradient = autograd::grad_of(x);
  EXPECT_EQ(gradient.device(), kGpu0);
  EXPECT_EQ(read(gradient), (std::vector<float>{0, 2, 4}));
}

}  // namespace
}  // namespace headrace
