#include "kvstore/executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvstore/host_reduce.h"
#include "kvstore/interpreter.h"
#include "kvstore/strategies.h"
#include "tests/kvstore/cpu_topologies.h"
#include "tests/support/arrays.h"

namespace headrace::kvstore {
namespace {

CollectiveRequest request_on(TopologyPtr topology, int devices, size_t bytes, Collective collective, int slices) {
  CollectiveRequest request;
  request.topology = std::move(topology);
  for (int i = 0; i < devices; ++i) request.devices.push_back(request.topology->find_device("cpu" + std::to_string(i)));
  request.bytes = bytes;
  request.collective = collective;
  request.slices = slices;
  return request;
}

std::vector<NDArray> values_on(int devices, int64_t elements, DType dtype, uint64_t seed) {
  std::vector<NDArray> values;
  for (int i = 0; i < devices; ++i) {
    values.push_back(NDArray::empty({elements}, dtype, {DeviceType::kCpu, i}));
    copy_into(values.back(), varied({elements}, dtype, seed + static_cast<uint64_t>(i)));
  }
  return values;
}

// Runs the plan on arrays three times, with other values each time, and compares every bit with the interpreter.
void expect_as_interpreted(const CollectiveRequest& request, const Strategy& strategy) {
  SCOPED_TRACE(std::string(strategy.name) + " on " + request.topology->name() + " of " + std::to_string(request.bytes));
  const CommunicationPlan plan = make_plan(strategy.name, request);
  if (request.collective == Collective::kBroadcast && !std::ranges::all_of(plan.owners(), [&](const Owner& owner) {
        return std::ranges::find(request.devices, owner.device) != request.devices.end();
      })) {  // nobody gives it what others are to get
    EXPECT_EQ(kind_of([&] { Executor(plan, DType::kFloat32); }), ErrorKind::kValue);
    return;
  }
  Executor executor(plan, DType::kFloat32);
  const int devices = static_cast<int>(request.devices.size());
  const auto elements = static_cast<int64_t>(request.bytes / sizeof(float));
  for (uint64_t round = 0; round < 3; ++round) {
    const std::vector<NDArray> arrays = values_on(devices, elements, DType::kFloat32, 100 * round);
    HostBuffers buffers(static_cast<size_t>(request.topology->device_count()));
    for (int i = 0; i < devices; ++i) buffers[request.devices[i]] = arrays[i].to_vector<float>();
    buffers = interpret(executor.plan(), std::move(buffers));
    executor.run(arrays, Reduction());
    for (int i = 0; i < devices; ++i) EXPECT_EQ(arrays[i].to_vector<float>(), buffers[request.devices[i]]) << i;
  }
}

TEST(Executor, DoesWhatTheInterpreterDoesInEveryStrategy) {
  for (const TopologyPtr& topology : {cpu_star(8), cpu_mesh()})
    for (const Strategy& strategy : strategies())
      for (int devices : {1, 2, 3, 8})
        for (Collective collective : {Collective::kAllreduce, Collective::kReduce, Collective::kBroadcast})
          for (size_t elements : {size_t{1}, size_t{7}, size_t{1000}})
            expect_as_interpreted(
                request_on(topology, devices, elements * sizeof(float), collective, elements == 1000 ? 3 : 1),
                strategy);
}

TEST(Executor, SumsLargeArraysStress) {
  for (const Strategy& strategy : strategies())
    expect_as_interpreted(request_on(cpu_mesh(), 8, 1 << 20, Collective::kAllreduce, 4), strategy);
}

// All arrays lie in one memory at first; the tasks of a plan write parts of them side by side.
TEST(Executor, WritesArraysThatShareMemoryStress) {
  constexpr int kDevices = 4;
  constexpr int64_t kElements = 1 << 18;
  for (const Strategy& strategy : strategies())
    for (int round = 0; round < 5; ++round) {
      SCOPED_TRACE(strategy.name);
      const CollectiveRequest request =
          request_on(cpu_star(kDevices), kDevices, kElements * sizeof(float), Collective::kAllreduce, 4);
      const NDArray source = varied({kElements}, DType::kFloat32, 3);
      const std::vector<NDArray> arrays = values_on(kDevices, kElements, DType::kFloat32, 1);
      reduce_on_host(Reduction(), {&source, 1}, arrays, {}, Extent::kBeyondCaches);
      for (const NDArray& array : arrays) array.wait_to_read();
      ASSERT_EQ(arrays[0].view()->data(), arrays[1].view()->data());
      Executor(make_plan(strategy.name, request), DType::kFloat32).run(arrays, Reduction());
      const std::string expected = headrace::bytes_of(call("_mul_scalar", {source}, {{"scalar", double{kDevices}}}));
      for (const NDArray& array : arrays) EXPECT_EQ(headrace::bytes_of(array), expected);
    }
}

TEST(Executor, TakesOtherDtypesAndReductions) {
  for (DType dtype : {DType::kFloat64, DType::kInt32, DType::kUint8, DType::kFloat16}) {
    const std::vector<NDArray> arrays = values_on(3, 50, dtype, 7);
    NDArray expected = arrays[0];
    for (int i = 1; i < 3; ++i) expected = call("_maximum", {expected, arrays[i]});
    const std::string bytes = headrace::bytes_of(expected);
    CollectiveRequest request = request_on(cpu_star(3), 3, 50 * item_size(dtype), Collective::kAllreduce, 1);
    request.element_bytes = item_size(dtype);
    Executor(make_plan("ring", request), dtype).run(arrays, Reduction("max"));
    for (const NDArray& array : arrays) EXPECT_EQ(headrace::bytes_of(array), bytes) << dtype_name(dtype);
  }
}

TEST(Executor, IsNotHauntedByAnEarlierError) {
  const CollectiveRequest request = request_on(cpu_star(3), 3, 40, Collective::kAllreduce, 1);
  Executor executor(make_plan("sharded", request), DType::kFloat32);
  std::vector<NDArray> arrays = values_on(3, 10, DType::kFloat32, 1);
  const NDArray bad = call("take", {arrays[1], array({99})}, {{"mode", std::string("raise")}});
  arrays[1] = call("tile", {bad}, {{"reps", Shape{10}}});
  executor.run(arrays, Reduction());
  EXPECT_EQ(kind_of([&] { arrays[0].wait_to_read(); }), ErrorKind::kIndex);
  for (int round = 0; round < 3; ++round) {
    const std::vector<NDArray> good = values_on(3, 10, DType::kFloat32, 1);
    executor.run(good, Reduction());
    EXPECT_NO_THROW(good[0].wait_to_read());
  }
}

TEST(Executor, RefusesWhatThePlanIsNotFor) {
  const CollectiveRequest request = request_on(cpu_star(2), 2, 40, Collective::kAllreduce, 1);
  Executor executor(make_plan("ring", request), DType::kFloat32);
  EXPECT_EQ(kind_of([&] { executor.run(values_on(1, 10, DType::kFloat32, 1), Reduction()); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { executor.run(values_on(2, 11, DType::kFloat32, 1), Reduction()); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { executor.run(values_on(2, 10, DType::kInt32, 1), Reduction()); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { Executor(make_plan("ring", request), DType::kFloat64); }), ErrorKind::kValue);
}

TEST(Executor, KnowsWhichBuffersItWrites) {
  Executor executor(make_plan("central", request_on(cpu_star(3), 3, 40, Collective::kReduce, 1)), DType::kFloat32);
  EXPECT_TRUE(executor.writes(0));
  EXPECT_FALSE(executor.writes(1));
  EXPECT_FALSE(executor.writes(2));
}

}  // namespace
}  // namespace headrace::kvstore
