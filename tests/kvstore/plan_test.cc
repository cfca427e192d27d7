#include "kvstore/communication_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kvstore/interpreter.h"
#include "requests.h"

namespace headrace::kvstore {
namespace {

CommunicationPlan central_plan() {
  CollectiveRequest request = request_for(loaded("pcie4"), 8);
  request.devices.resize(2);
  return make_plan("central", request);
}

TEST(Plan, PrintsALineForEachStep) {
  EXPECT_EQ(central_plan().text(),
            "allreduce of 8 bytes, central on pcie4, devices gpu0, gpu1: 3 steps\n"
            "    0  copy   [0, 8)  gpu1 -> gpu0[1]\n"
            "    1  reduce [0, 8)  gpu0[1] +> gpu0  after 0\n"
            "    2  copy   [0, 8)  gpu0 -> gpu1  after 1\n");
}

TEST(Plan, JsonHasTheSteps) {
  const nlohmann::json json = nlohmann::json::parse(central_plan().json());
  EXPECT_EQ(json["topology"], "pcie4");
  EXPECT_EQ(json["strategy"], "central");
  EXPECT_EQ(json["collective"], "allreduce");
  EXPECT_EQ(json["bytes"], 8);
  EXPECT_EQ(json["devices"], (nlohmann::json{"gpu0", "gpu1"}));
  EXPECT_EQ(json["owners"][0]["device"], "gpu0");
  ASSERT_EQ(json["steps"].size(), 3u);
  EXPECT_EQ(json["steps"][0]["route"], (nlohmann::json{"gpu1", "switch", "gpu0"}));
  EXPECT_EQ(json["steps"][0]["target"]["slot"], 1);
  EXPECT_EQ(json["steps"][1]["kind"], "reduce");
  EXPECT_EQ(json["steps"][2]["after"], (nlohmann::json{1}));
}

TEST(Plan, BuilderOrdersAChannelAndDropsEmptyRanges) {
  PlanBuilder builder(loaded("pcie4"), "by hand", Collective::kAllreduce, {1, 2}, 16);
  EXPECT_EQ(builder.copy({1}, {2, 1}, {4, 4}, {}, 0), -1);
  EXPECT_EQ(builder.reduce({2, 1}, {2}, {4, 4}, {}), -1);
  const int first = builder.copy({1}, {2, 1}, {0, 8}, {-1}, 0);
  const int other = builder.copy({1}, {2, 2}, {0, 8}, {}, 1);
  const int second = builder.copy({1}, {2, 1}, {4, 16}, {first, other, first}, 0);
  const CommunicationPlan plan = std::move(builder).finish();
  EXPECT_TRUE(plan.steps()[first].after.empty());
  EXPECT_TRUE(plan.steps()[other].after.empty());
  EXPECT_EQ(plan.steps()[second].after, (std::vector<int>{first, other}));
  EXPECT_EQ(plan.routes().size(), 1u);
  EXPECT_EQ(plan.scratch_bytes(2), 16u + 8u);  // joined ranges of slot 1, and slot 2
}

TEST(Plan, NamesOfCollectives) {
  for (Collective collective : {Collective::kAllreduce, Collective::kReduce, Collective::kBroadcast})
    EXPECT_EQ(parse_collective(collective_name(collective)), collective);
  expect_value_error([] { parse_collective("gather"); }, "'gather' is no collective operation; known are allreduce");
}

TEST(Interpreter, RefusesWhatIsNotThere) {
  PlanBuilder builder(loaded("pcie4"), "by hand", Collective::kAllreduce, {1, 2}, 16);
  builder.copy({1, 1}, {2}, {0, 8}, {}, 0);
  const CommunicationPlan plan = std::move(builder).finish();
  HostBuffers buffers(5);
  buffers[1] = buffers[2] = {1, 2, 3, 4};
  try {
    interpret(plan, buffers);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_STREQ(error.what(), "interpret: step 0 reads float 0 of slot 1 on gpu0, which nothing has written");
  }
}

TEST(Interpreter, RefusesWrongBuffersAndOrders) {
  const CommunicationPlan plan = central_plan();
  HostBuffers buffers(5);
  buffers[1] = buffers[2] = {1, 2};
  EXPECT_EQ(interpret(plan, buffers)[2], (std::vector<float>{2, 4}));
  expect_value_error([&] { interpret(plan, HostBuffers(2)); }, "expected a buffer for each of 5 devices");
  HostBuffers three = buffers;
  three[2].push_back(3);
  expect_value_error([&] { interpret(plan, three); }, "buffer of gpu1 must have 2 floats or none, got 3");
  expect_value_error([&] { interpret(plan, buffers, std::vector<int>{0, 1}); }, "the order has 2 steps, the plan 3");
  expect_value_error([&] { interpret(plan, buffers, std::vector<int>{0, 0, 1}); }, "step 0 twice");
  expect_value_error([&] { interpret(plan, buffers, std::vector<int>{0, 1, 3}); }, "no such step");
  EXPECT_THROW(interpret(plan, buffers, std::vector<int>{0, 2, 1}), Error);
  CollectiveRequest odd = request_for(loaded("pcie4"), 7);
  expect_value_error([&] { interpret(make_plan("ring", odd), HostBuffers(5)); }, "no whole number of floats");
}

}  // namespace
}  // namespace headrace::kvstore
