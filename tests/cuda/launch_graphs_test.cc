// Launches that come again, captured as CUDA graphs: with MXNET_ENABLE_CUDA_GRAPHS=1, which the tests of this folder
// set.
#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "base/config.h"
#include "device/recurrence.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "graph/cached_op.h"
#include "headrace/memory.hpp"
#include "op/thread_state.h"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

// Rows of x, multiplied by w and normalised several times: no two of these become one kernel.
Symbol layers(int count) {
  Symbol x = Symbol::variable("x");
  const Symbol w = Symbol::variable("w");
  for (int layer = 0; layer < count; ++layer) x = Symbol::apply("softmax", "", {Symbol::apply("dot", "", {x, w})});
  return x;
}

class CudaGraphs : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(config().cuda_graphs); }
  ~CudaGraphs() override { thread_state().recording = thread_state().training = false; }

  int64_t captured() const { return recurrence_counts().captured - captured_before_; }
  int64_t replayed() const { return recurrence_counts().replayed - replayed_before_; }

  // Of the two inputs, of the host, where they are now.
  static NDArray on_host(CachedOp& op, const NDArray& x, const NDArray& w) {
    return op(std::vector{as_in_context(x, {}), as_in_context(w, {})})[0];
  }
  static void expect_as_on_host(CachedOp& op, const NDArray& x, const NDArray& w) {
    const NDArray there = op(std::vector{x, w})[0];
    expect_close(as_in_context(there, {}), on_host(op, x, w));
  }

  const NDArray x_ = as_in_context(varied({5, 7}, DType::kFloat32, 1), kGpu0);
  const NDArray w_ = as_in_context(varied({7, 7}, DType::kFloat32, 2), kGpu0);

 private:
  const int64_t captured_before_ = recurrence_counts().captured, replayed_before_ = recurrence_counts().replayed;
};

TEST_F(CudaGraphs, ReplaysComputeWhatTheInputsAreThen) {
  CachedOp op(layers(3));
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    copy_into(x_, as_in_context(varied({5, 7}, DType::kFloat32, static_cast<uint64_t>(round)), kGpu0));
    expect_as_on_host(op, x_, w_);
  }
  EXPECT_GE(captured(), 1);
  EXPECT_GE(replayed(), 1);
  EXPECT_LE(captured() + replayed(), kRounds - 1);
}

// Results that the program keeps lie elsewhere each time.
TEST_F(CudaGraphs, OtherMemoryIsNoReplay) {
  CachedOp op(layers(3));
  std::vector<NDArray> kept;
  for (int round = 0; round < 20; ++round) kept.push_back(op(std::vector{x_, w_})[0]);
  for (const NDArray& one : kept) expect_close(as_in_context(one, {}), on_host(op, x_, w_));
  EXPECT_EQ(replayed(), 0);
}

TEST_F(CudaGraphs, InputsTakeTurns) {
  CachedOp op(layers(3));
  std::vector<NDArray> inputs;
  for (uint64_t k = 0; k < 5; ++k) inputs.push_back(as_in_context(varied({5, 7}, DType::kFloat32, k + 20), kGpu0));
  for (int round = 0; round < 40; ++round) expect_as_on_host(op, inputs[static_cast<size_t>(round % 5)], w_);
  EXPECT_GE(replayed(), 10);
}

// A graph keeps what its kernels need: products of views that are packed, workspace.
TEST_F(CudaGraphs, WorkspaceStaysWithTheGraph) {
  CachedOp op(Symbol::apply("sort", "", {layers(3)}));
  const NDArray wide = as_in_context(varied({7, 5}, DType::kFloat32, 3), kGpu0);
  for (int round = 0; round < 10; ++round) {
    const NDArray turned = call("transpose", {wide});
    expect_as_on_host(op, turned, w_);
    NDArray other = as_in_context(full({64}, round, DType::kFloat32, {}), kGpu0);  // takes memory that is free
    other.wait_to_read();
  }
  EXPECT_GE(replayed(), 1);
}

TEST_F(CudaGraphs, GradientsAreThoseOfTheHost) {
  CachedOp op(layers(3));
  const auto gradient_at = [&](Device device, int round) {
    const NDArray x = as_in_context(varied({5, 7}, DType::kFloat32, static_cast<uint64_t>(round)), device);
    NDArray w = as_in_context(w_, device);
    autograd::mark_variable(w, zeros_like(w), GradReq::kWrite);
    for (int step = 0; step < 12; ++step) {
      thread_state().recording = true;
      const NDArray loss = call("sum", {call("square", {op(std::vector{x, w})[0]})});
      thread_state().recording = false;
      autograd::backward({&loss, 1}, {}, false, true);
      runtime().engine.wait_all();
    }
    return as_in_context(w.node()->gradient, {});
  };
  for (int round = 0; round < 3; ++round) expect_close(gradient_at(kGpu0, round), gradient_at({}, round));
  EXPECT_GE(replayed(), 1);
}

TEST_F(CudaGraphs, RandomNumbersAreDrawnEachTime) {
  thread_state().training = true;
  CachedOp op(Symbol::apply("Dropout", "", {layers(3)}, {{"p", "0.5"}}));
  std::vector<std::string> results;
  for (int round = 0; round < 6; ++round) results.push_back(bytes_of(as_in_context(op(std::vector{x_, w_})[0], {})));
  for (size_t k = 1; k < results.size(); ++k) EXPECT_NE(results[k], results[0]);
  EXPECT_EQ(captured(), 0);
}

// As does code of the host of any kind.
TEST_F(CudaGraphs, WhatTheHostComputesIsLaunchedAsEver) {
  const Symbol rows = layers(2);
  const Symbol square = Symbol::apply("dot", "", {Symbol::apply("transpose", "", {rows}), rows});
  CachedOp op(Symbol::apply("_linalg_det", "", {square}));
  for (int round = 0; round < 6; ++round) {
    copy_into(x_, as_in_context(varied({5, 7}, DType::kFloat32, static_cast<uint64_t>(round)), kGpu0));
    expect_as_on_host(op, x_, w_);
  }
  EXPECT_EQ(captured(), 0);
}

// A later network may lie where one was whose graphs are known.
TEST_F(CudaGraphs, NetworksComeAndGo) {
  for (int count = 2; count < 12; ++count) {
    CachedOp op(layers(2 + count % 3));
    for (int round = 0; round < 4; ++round) expect_as_on_host(op, x_, w_);
  }
  EXPECT_GE(replayed(), 10);
}

// Workspace that graphs keep goes with them.
TEST_F(CudaGraphs, MemoryIsFreeWhenTheNetworkIs) {
  const auto live = [] {
    runtime().engine.wait_all();
    return allocator_of(kGpu0).stats().live;
  };
  const auto use = [&] {
    CachedOp op(Symbol::apply("sort", "", {layers(3)}));
    for (int round = 0; round < 6; ++round) expect_as_on_host(op, x_, w_);
  };
  use();
  use();
  const int64_t after = live();
  for (int round = 0; round < 5; ++round) use();
  EXPECT_LE(live(), after);
}

// The driver may refuse a graph: what was to be captured is launched.
TEST(CudaGraphsDeathTest, WhatCannotBeMadeIsLaunched) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [] {
    ::setenv("HEADRACE_STAND_IN_FAIL", "cuGraphInstantiateWithFlags:1:2", 1);
    CachedOp op(layers(3));
    const NDArray here = varied({5, 7}, DType::kFloat32, 1), w = varied({7, 7}, DType::kFloat32, 2);
    const NDArray there = as_in_context(here, kGpu0), w_there = as_in_context(w, kGpu0);
    for (int round = 0; round < 8; ++round)
      expect_close(as_in_context(op(std::vector{there, w_there})[0], {}), op(std::vector{here, w})[0]);
    const bool is_good = !testing::Test::HasFailure() && recurrence_counts().captured == 1;
    std::_Exit(is_good ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headrace
