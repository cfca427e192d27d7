// GPUs that have kernels of their own (tests/plugin/tabled_gpus.cc): run with HEADRACE_BACKENDS=libtabled_gpus.so.
#include "op/kernel_table.h"

#include <gtest/gtest.h>

#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/autograd.hpp"
#include "headrace/devices.hpp"
#include "headrace/error.hpp"
#include "headrace/sim.hpp"
#include "op/catalogue.h"
#include "op/detours.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

class KernelTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_of(DeviceType::kGpu)) GTEST_SKIP() << "the GPUs of this process run the host's code";
    sim::configure({.gpus = 1, .clock = sim::Clock::kVirtual});
  }
  static NDArray on_gpu(const std::vector<float>& values, const Shape& shape) {
    return as_in_context(NDArray::from_host(values.data(), shape, DType::kFloat32), kGpu0);
  }
  static std::vector<float> read(const NDArray& array) { return as_in_context(array, {}).to_vector<float>(); }
};

int64_t detours_of(const std::string& detour) {
  const auto all = detours();
  const auto found = all.find(detour);
  return found == all.end() ? 0 : found->second;
}

TEST_F(KernelTableTest, OperatorsLeftToTheHostGiveWhatTheHostGivesAndAreCounted) {
  const int64_t before = detours_of("sort: computed on the host");
  const NDArray x = on_gpu({3, 1, 2, 6, 4, 5}, {2, 3});
  EXPECT_EQ(read(call("sort", {x})), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(call("sort", {call("transpose", {x})}, {{"axis", int64_t{0}}})),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(detours_of("sort: computed on the host"), before + 2);
}

TEST_F(KernelTableTest, AnOperatorLeftToTheHostChangesPartOfAnArrayInPlace) {
  const NDArray means = on_gpu({9, 8, 7, 6}, {4}),
                part = call("slice", {means}, {{"begin", Shape{1}}, {"end", Shape{3}}});
  const NDArray ones = on_gpu({1, 1}, {2}), zeros = on_gpu({0, 0}, {2}), x = on_gpu({2, 4, 6, 8}, {2, 2});
  const autograd::RecordScope training;
  call("BatchNorm", {x, ones, zeros, part, on_gpu({1, 1}, {2})}, {{"momentum", 0.5}});
  EXPECT_EQ(read(means), (std::vector<float>{9, 6, 6.5, 6}));
}

TEST_F(KernelTableTest, AnOperatorWithoutAKernelIsNamedWhereItsResultIsRead) {
  const OpDef op = general({.name = "unknown_there",
                            .doc = "",
                            .infer = [](Infer& i, const NoAttrs&) { i.output(i.shape(0), i.dtype(0)); },
                            .kernel = [](KernelContext&, const NoAttrs&) {}});
  const NDArray result = call(op, op.default_attrs, {on_gpu({1}, {1})});
  try {
    result.wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown_there: there is no kernel for gpu(0)"), std::string::npos)
        << error.what();
  }
}

TEST(KernelTable, RefusesAKernelOfAnotherOperatorsAttributes) {
  KernelTable table;
  const OpDef& op = find_op("sort");
  EXPECT_EQ(table.find(op), nullptr);
  EXPECT_THROW(table.set(op, [](KernelContext&, const NoAttrs&) {}), Error);
  table.set(op, [](KernelContext&, const Attrs&) {});
  EXPECT_NE(table.find(op), nullptr);
}

}  // namespace
}  // namespace headrace
