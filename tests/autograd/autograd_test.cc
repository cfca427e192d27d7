#include "autograd/autograd.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "headrace/error.hpp"
#include "ndarray/view.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/thread_state.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

class Autograd : public testing::Test {
 protected:
  ~Autograd() override { thread_state().recording = false; }

  static NDArray variable(std::vector<float> values, GradReq request = GradReq::kWrite) {
    Shape shape{static_cast<int64_t>(values.size())};
    NDArray x = NDArray::from_host(values.data(), shape, DType::kFloat32);
    autograd::mark_variable(x, zeros_like(x), request);
    return x;
  }
  static std::vector<float> gradient(const NDArray& x) { return x.node()->gradient.to_vector<float>(); }
  static void backward(const NDArray& head, bool retain = false) {
    thread_state().recording = false;
    autograd::backward({&head, 1}, {}, retain, true);
  }
};

TEST_F(Autograd, ProductsPassGradientsToBothSides) {
  NDArray x = variable({1, 2}), y = variable({3, 4});
  thread_state().recording = true;
  backward(call("broadcast_mul", {x, y}));
  EXPECT_EQ(gradient(x), (std::vector<float>{3, 4}));
  EXPECT_EQ(gradient(y), (std::vector<float>{1, 2}));
}

TEST_F(Autograd, HeadGradientsAreAsManyAsHeads) {
  const NDArray x = variable({1, 2});
  thread_state().recording = true;
  const std::vector<NDArray> heads{call("broadcast_mul", {x, x}), call("broadcast_add", {x, x})};
  thread_state().recording = false;
  for (const size_t count : {1, 3}) {
    const std::vector<NDArray> given(count, array({1, 1}));
    EXPECT_EQ(kind_of([&] { autograd::backward(heads, given, false, true); }), ErrorKind::kValue);
    EXPECT_EQ(kind_of([&] { autograd::grad(heads, {&x, 1}, given, false, false, true); }), ErrorKind::kValue);
  }
  EXPECT_EQ(kind_of([] { autograd::backward({}, {}, false, true); }), ErrorKind::kValue);
  autograd::backward(heads, {}, false, true);
  EXPECT_EQ(gradient(x), (std::vector<float>{4, 6}));
}

TEST_F(Autograd, PathsAreSummed) {
  NDArray x = variable({3});
  thread_state().recording = true;
  NDArray square = call("broadcast_mul", {x, x});
  backward(call("broadcast_add", {square, x}));
  EXPECT_EQ(gradient(x), (std::vector<float>{7}));
}

TEST_F(Autograd, LossesHaveGradientsBelowWhatHasNone) {
  NDArray x = variable({1, 2});
  thread_state().recording = true;
  const NDArray loss = call("make_loss", {call("_mul_scalar", {x}, {{"scalar", 3.0}})});
  backward(call("square", {call("BlockGrad", {loss})}));
  EXPECT_EQ(gradient(x), (std::vector<float>{3, 3}));
  thread_state().recording = true;
  backward(call("BlockGrad", {call("square", {x})}));
  EXPECT_EQ(gradient(x), (std::vector<float>{0, 0}));
}

TEST_F(Autograd, AddCollects) {
  NDArray x = variable({3}, GradReq::kAdd);
  for (int i = 0; i < 2; ++i) {
    thread_state().recording = true;
    backward(call("broadcast_mul", {x, x}));
  }
  EXPECT_EQ(gradient(x), (std::vector<float>{12}));
}

TEST_F(Autograd, AGraphThatHasFailedOnTheWayServesNoMore) {
  NDArray x = variable({3});
  thread_state().recording = true;
  const NDArray y = call("broadcast_mul", {x, x});
  NDArray z = zeros_like(y);
  bool fails = true;
  autograd::record_node({&y, 1}, {&z, 1}, [&](Gradient& g) {
    check(!fails, ErrorKind::kValue, "on the way");
    g.set(0, g.head());
  });
  const NDArray head = call("negative", {z});
  EXPECT_THROW(backward(head, true), Error);
  fails = false;
  backward(head, true);  // a retained one goes on
  EXPECT_EQ(gradient(x), (std::vector<float>{-6}));
  fails = true;
  EXPECT_THROW(backward(head), Error);
  fails = false;
  EXPECT_THROW(backward(head), Error);
  EXPECT_EQ(gradient(x), (std::vector<float>{-6}));
}

TEST_F(Autograd, AGraphServesOnceUnlessRetained) {
  NDArray x = variable({3});
  thread_state().recording = true;
  NDArray y = call("broadcast_mul", {x, x});
  backward(y, true);
  backward(y);
  EXPECT_THROW(backward(y), Error);
}

TEST_F(Autograd, SecondDerivatives) {
  NDArray x = variable({2});
  thread_state().recording = true;
  NDArray cube = call("broadcast_mul", {call("broadcast_mul", {x, x}), x});
  NDArray first = autograd::grad({&cube, 1}, {&x, 1}, {}, true, true, true)[0];
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{12}));
  backward(first);
  EXPECT_EQ(gradient(x), (std::vector<float>{12}));
}

TEST_F(Autograd, CustomStepsTakePart) {
  NDArray x = variable({1, 2});
  thread_state().recording = true;
  NDArray y = call("_copy", {x.detach()});
  autograd::record_custom({&x, 1}, {&y, 1}, [](std::span<const NDArray> heads, const std::vector<bool>& wanted) {
    EXPECT_EQ(wanted, std::vector<bool>{true});
    return std::vector<NDArray>{call("_mul_scalar", {heads[0]}, {{"scalar", 5.0}})};
  });
  backward(call("_mul_scalar", {y}, {{"scalar", 2.0}}));
  EXPECT_EQ(gradient(x), (std::vector<float>{10, 10}));
}

// A gradient lies in memory as its array does, so that operators which keep an order of axes write it directly.
TEST_F(Autograd, GradientsKeepTheOrderOfAxes) {
  NDArray x(make_view({2, 3, 2, 2}, DType::kFloat32, Device{}, Strides{12, 1, 6, 3}));
  copy_into(x, varied({2, 3, 2, 2}, DType::kFloat32, 1));
  autograd::mark_variable(x, zeros_like(x), GradReq::kWrite);
  EXPECT_EQ(x.node()->gradient.strides(), x.strides());
  thread_state().recording = true;
  backward(call("square", {x}));
  EXPECT_EQ(x.node()->gradient.strides(), x.strides());
  EXPECT_EQ(gradient(x), call("_mul_scalar", {x.detach()}, {{"scalar", 2.0}}).to_vector<float>());
}

}  // namespace
}  // namespace headrace
