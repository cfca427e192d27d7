#include "graph/cached_op.h"

#include <gtest/gtest.h>

#include <thread>

#include "autograd/autograd.h"
#include "headrace/random.hpp"
#include "op/thread_state.h"
#include "tests/graph/graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

class CachedOps : public testing::Test {
 protected:
  ~CachedOps() override {
    thread_state().recording = thread_state().training = false;
    random::set_generator(random::Generator::kPhilox);
  }
  static NDArray leaf(std::vector<float> values, GradReq request = GradReq::kWrite) {
    NDArray x = array(values);
    autograd::mark_variable(x, zeros_like(x), request);
    return x;
  }
  static std::vector<float> gradient(const NDArray& x) { return x.node()->gradient.to_vector<float>(); }
  static NDArray recorded(CachedOp& op, const std::vector<NDArray>& inputs) {
    thread_state().recording = true;
    const std::vector<NDArray> outputs = op(inputs);
    thread_state().recording = false;
    return outputs[0];
  }
  static void backward(const NDArray& head, bool retain = false) { autograd::backward({&head, 1}, {}, retain, true); }
  static Symbol cube() {
    const Symbol x = var("x");
    return Symbol::apply("elemwise_mul", "", {Symbol::apply("square", "", {x}), x});
  }
};

TEST_F(CachedOps, OtherShapesAndDtypesAreOtherPlans) {
  CachedOp op(cube());
  EXPECT_EQ(op(std::vector{array({2, 3})})[0].to_vector<float>(), (std::vector<float>{8, 27}));
  EXPECT_EQ(op(std::vector{array({1, 2, 3, 4}, {2, 2})})[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(op(std::vector{cast_to(array({2}), DType::kFloat64)})[0].dtype(), DType::kFloat64);
  EXPECT_EQ(op(std::vector{array({2, 3})})[0].to_vector<float>(), (std::vector<float>{8, 27}));
  for (int64_t n = 1; n < 300; ++n)
    EXPECT_EQ(op(std::vector{full({n}, 2, DType::kFloat32, Device{})})[0].to_vector<float>().back(), 8);
}

TEST_F(CachedOps, KeepsPlansUpToTheirTotalSize) {
  CachedOp op(cube(), {.most_values = 6});
  for (int64_t n = 1; n < 20; ++n)
    EXPECT_EQ(op(std::vector{full({n}, 2, DType::kFloat32, Device{})})[0].to_vector<float>().back(), 8);
  EXPECT_GE(op.kinds_known(), 1u);
  EXPECT_LE(op.kinds_known(), 3u);
  CachedOp small(cube(), {.most_values = 0});  // the newest is kept all the same
  for (int64_t n = 1; n < 4; ++n) small(std::vector{full({n}, 2, DType::kFloat32, Device{})});
  EXPECT_EQ(small.kinds_known(), 1u);
}

TEST_F(CachedOps, WrongInputsAreRefused) {
  CachedOp op(Symbol::apply("elemwise_add", "sum", {var("a"), var("b")}));
  EXPECT_EQ(kind_of([&] { op(std::vector{array({1})}); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] { op(std::vector{array({1}), NDArray()}); }), ErrorKind::kRuntime);
  EXPECT_THROW(op(std::vector{array({1, 2}), array({1, 2, 3})}), Error);
  EXPECT_EQ(op(std::vector{array({1}), array({2})})[0].item(), 3);  // and it still works
}

TEST_F(CachedOps, KnowsWhichHeadGradientsMatter) {
  const Symbol x = var("x"), square = Symbol::apply("square", "", {x});
  const Symbol loss = Symbol::apply("MakeLoss", "", {square}), fixed = Symbol::apply("BlockGrad", "", {square});
  CachedOp op(Symbol::group({square, loss, fixed, x, var("other")}));
  const std::vector<NDArray> inputs{leaf({2, 3}), array({1})};
  const std::vector<bool> none(5, false), some{true, false, false, true, false};
  EXPECT_EQ(op.reads_head_gradients(inputs), none);
  thread_state().recording = true;
  EXPECT_EQ(op.reads_head_gradients(inputs), some);
  thread_state().training = true;
  EXPECT_EQ(op.reads_head_gradients(inputs), some);
}

TEST_F(CachedOps, TrainingIsAnotherPlan) {
  CachedOp op(Symbol::apply("Dropout", "", {var("x")}, {{"p", "0.5"}}));
  const std::vector<NDArray> x{ones_like(full({100}, 0, DType::kFloat32, Device{}))};
  EXPECT_EQ(op(x)[0].to_vector<float>(), std::vector<float>(100, 1.0f));
  thread_state().training = true;
  const std::vector<float> dropped = op(x)[0].to_vector<float>();
  EXPECT_GT(std::count(dropped.begin(), dropped.end(), 0.0f), 20);
  thread_state().training = false;
  EXPECT_EQ(op(x)[0].to_vector<float>(), std::vector<float>(100, 1.0f));
}

TEST_F(CachedOps, GradientsAreWrittenOrAdded) {
  CachedOp op(cube());
  for (GradReq request : {GradReq::kWrite, GradReq::kAdd}) {
    const NDArray x = leaf({1, 2}, request);
    backward(recorded(op, {x}));
    backward(recorded(op, {x}));
    EXPECT_EQ(gradient(x), request == GradReq::kAdd ? (std::vector<float>{6, 24}) : (std::vector<float>{3, 12}));
  }
}

TEST_F(CachedOps, OneArrayForTwoInputs) {
  CachedOp op(Symbol::apply("elemwise_mul", "", {var("a"), var("b")}));
  const NDArray x = leaf({3});
  backward(recorded(op, {x, x}));
  EXPECT_EQ(gradient(x), std::vector<float>{6});
}

TEST_F(CachedOps, SeveralCallsBeforeBackward) {
  CachedOp op(cube());
  const NDArray x = leaf({1}), y = leaf({2});
  const NDArray a = recorded(op, {x}), b = recorded(op, {y});
  thread_state().recording = true;
  const NDArray sum = call("elemwise_add", {recorded(op, {a}), b});
  thread_state().recording = false;
  EXPECT_EQ(b.item(), 8);
  thread_state().recording = true;
  const NDArray c = call("elemwise_add", {a, b});
  thread_state().recording = false;
  backward(c);
  EXPECT_EQ(gradient(x), std::vector<float>{3});
  EXPECT_EQ(gradient(y), std::vector<float>{12});
}

TEST_F(CachedOps, OutputsStayAcrossCalls) {
  CachedOp op(cube());
  const NDArray first = op(std::vector{array({2})})[0];
  for (float value : {3.0f, 4.0f, 5.0f}) op(std::vector{array({value})})[0].wait_to_read();
  EXPECT_EQ(first.item(), 8);
}

TEST_F(CachedOps, RetainedGraphsServeAgain) {
  CachedOp op(cube());
  const NDArray x = leaf({2}, GradReq::kAdd), y = recorded(op, {x});
  backward(y, true);
  backward(y);
  EXPECT_EQ(gradient(x), std::vector<float>{24});
  EXPECT_THROW(backward(y), Error);
}

TEST_F(CachedOps, ASecondDerivativeIsThatOfTheOperators) {
  CachedOp op(cube());
  const NDArray x = leaf({2, 3}), y = recorded(op, {x});
  const std::vector<NDArray> first = autograd::grad({&y, 1}, {&x, 1}, {}, true, true, true);
  EXPECT_EQ(first[0].to_vector<float>(), (std::vector<float>{12, 27}));
  const std::vector<NDArray> second = autograd::grad({&first[0], 1}, {&x, 1}, {}, true, true, true);
  EXPECT_EQ(second[0].to_vector<float>(), (std::vector<float>{12, 18}));
  backward(second[0]);
  EXPECT_EQ(gradient(x), (std::vector<float>{6, 6}));
}

TEST_F(CachedOps, ASecondDerivativeOutlivesItsCachedOp) {
  const NDArray x = leaf({2});
  NDArray y;
  {
    CachedOp op(cube());
    y = recorded(op, {x});
  }
  const std::vector<NDArray> first = autograd::grad({&y, 1}, {&x, 1}, {}, true, true, true);
  backward(first[0]);
  EXPECT_EQ(gradient(x), (std::vector<float>{12}));
}

TEST_F(CachedOps, RandomNumbersAreNotDrawnAgainForASecondDerivative) {
  const Symbol x = var("x"), noise = Symbol::apply("_random_uniform_like", "", {x});
  CachedOp op(Symbol::apply("elemwise_mul", "", {Symbol::apply("square", "", {x}), noise}));
  const NDArray leaf_x = leaf({2}), y = recorded(op, {leaf_x});
  EXPECT_THROW(autograd::grad({&y, 1}, {&leaf_x, 1}, {}, true, true, true), Error);
  backward(y);  // the first one is fine
}

TEST_F(CachedOps, ErrorsInsideAPlanReachTheOutputs) {
  // A negative deviation is found when the numbers are drawn.
  CachedOp draw(Symbol::apply("_sample_normal", "", {var("mean"), Symbol::apply("_copy", "", {var("deviation")})}));
  const NDArray bad = draw(std::vector{array({0}), array({-1})})[0];
  CachedOp op(cube());
  const NDArray derived = op(std::vector{bad})[0];
  EXPECT_THROW(derived.wait_to_read(), Error);
  EXPECT_THROW(bad.wait_to_read(), Error);
  EXPECT_NO_THROW(draw(std::vector{array({0}), array({1})})[0].wait_to_read());
}

TEST_F(CachedOps, RandomNumbersAreThoseOfTheOperators) {
  const Symbol noise = Symbol::apply("_random_normal", "", {}, {{"shape", "(50,)"}});
  const Symbol dropped = Symbol::apply("Dropout", "", {var("x")}, {{"p", "0.3"}});
  const Symbol sum =
      Symbol::apply("elemwise_add", "", {Symbol::apply("Dropout", "", {dropped}, {{"p", "0.5"}}), noise});
  const std::vector<NDArray> x{full({50}, 1, DType::kFloat32, Device{})};
  thread_state().training = true;
  for (random::Generator generator : {random::Generator::kPhilox, random::Generator::kMt19937}) {
    random::set_generator(generator);
    std::vector<std::vector<float>> seen;
    for (bool compile : {false, true}) {
      CachedOp op(sum, {.compile = compile});
      random::seed(7);
      op(x);
      seen.push_back(op(x)[0].to_vector<float>());
    }
    EXPECT_EQ(seen[0], seen[1]);
  }
}

TEST_F(CachedOps, RunningStatisticsMoveOncePerCall) {
  const Symbol norm = Symbol::apply("BatchNorm", "bn", {var("data")}, {{"momentum", "0.5"}, {"fix_gamma", "False"}});
  ASSERT_EQ(norm.list_auxiliary_states(), (std::vector<std::string>{"bn_moving_mean", "bn_moving_var"}));
  CachedOp op(norm);
  const NDArray x = array({1, 3}, {2, 1}), mean = array({0}), variance = array({1});
  const std::vector<NDArray> inputs{x, array({1}), array({0}), mean, variance};
  op(inputs)[0].wait_to_read();
  EXPECT_EQ(mean.item(), 0);
  thread_state().training = true;
  op(inputs);
  EXPECT_EQ(mean.item(), 1);
  op(inputs);
  EXPECT_EQ(mean.item(), 1.5);
  NDArray data = x;
  autograd::mark_variable(data, zeros_like(data), GradReq::kWrite);
  backward(recorded(op, {data, inputs[1], inputs[2], mean, variance}));
  EXPECT_EQ(mean.item(), 1.75);
}

TEST_F(CachedOps, SeveralThreadsInferAtOnce) {
  CachedOp op(Symbol::apply("FullyConnected", "fc", {Symbol::apply("tanh", "", {var("x")})}, {{"num_hidden", "3"}}));
  const NDArray weight = full({3, 4}, 0.5, DType::kFloat32, Device{}), bias = full({3}, 1, DType::kFloat32, Device{});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 50; ++i) {
        const NDArray x = full({1 + i % 5, 4}, 0, DType::kFloat32, Device{});
        const std::vector<float> y = op(std::vector{x, weight, bias})[0].to_vector<float>();
        wrong += y != std::vector<float>(static_cast<size_t>(3 * (1 + i % 5)), 1.0f);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace headrace
