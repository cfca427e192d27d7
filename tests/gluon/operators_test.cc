// Operators on arrays, the functions made from the catalogue, calls by name, gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

TEST(Arithmetic, ArraysAndNumbers) {
  NDArray x = array({1, 2}), y = array({4, 8});
  EXPECT_THAT((x + y).to_vector<float>(), ElementsAre(5, 10));
  EXPECT_THAT((x - y).to_vector<float>(), ElementsAre(-3, -6));
  EXPECT_THAT((x * y).to_vector<float>(), ElementsAre(4, 16));
  EXPECT_THAT((y / x).to_vector<float>(), ElementsAre(4, 4));
  EXPECT_THAT((-x + 1).to_vector<float>(), ElementsAre(0, -1));
  EXPECT_THAT((3 - x).to_vector<float>(), ElementsAre(2, 1));
  EXPECT_THAT((2 * x * 0.5).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT((8 / y / 2 - 1 + x).to_vector<float>(), ElementsAre(1, 1.5));
  EXPECT_EQ((np::ones({2, 1}) + x).shape(), (Shape{2, 2}));
  EXPECT_THROW(x + array({1, 2, 3}), Error);
  EXPECT_THROW(x + NDArray(), Error);
}

TEST(Arithmetic, NumbersTakeTheDtypeBesideThem) {
  NDArray integers = nd::cast(array({1, 2}), DType::kInt32);
  EXPECT_EQ((integers + 1).dtype(), DType::kInt32);
  EXPECT_TRUE(is_floating((integers + 0.5).dtype()));
  EXPECT_TRUE(is_floating((integers / 2).dtype()));
}

TEST(Functions, OptionsRequiredAttributesAndLists) {
  NDArray x = array({-1, 0, 1, 2});
  EXPECT_THAT(nd::clip(x, 0, 1).to_vector<float>(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(nd::sum(np::ones({2, 3}), {.axis = Shape{1}, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_EQ(np::sum(np::ones({2, 3})).shape(), Shape{});
  EXPECT_THAT(nd::concat({x, x}, {.dim = 0}).shape(), ElementsAre(8));
  EXPECT_EQ(npx::relu(x).to_vector<float>(), nd::relu(x).to_vector<float>());
  EXPECT_EQ(nd::add_n({x, x, x}).to_vector<float>(), (x * 3).to_vector<float>());
}

TEST(Functions, SeveralResultsComeAsAList) {
  std::vector<NDArray> halves = nd::split(np::ones({2, 4}), 2);
  ASSERT_EQ(halves.size(), 2U);
  EXPECT_EQ(halves[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(nd::topk(array({3, 1, 2}), {.k = 2, .ret_typ = "both"}).size(), 2U);
}

TEST(Functions, OptionalArraysMayBeLeftOut) {
  NDArray x = np::ones({2, 3}), weight = np::ones({4, 3});
  EXPECT_EQ(nd::FullyConnected(x, weight, {}, 4, {.no_bias = true}).shape(), (Shape{2, 4}));
  EXPECT_NEAR(np::sum(nd::softmax(x)).item(), 2, 1e-5);
}

TEST(Invoke, WrongCallsAreRefused) {
  NDArray x = array({1, 2});
  EXPECT_THROW(invoke("no_such_operator", {x}), Error);
  EXPECT_THROW(invoke("clip", {x}, {{"a_min", 0.0}}), Error);                                   // a_max is missing
  EXPECT_THROW(invoke("clip", {x}, {{"a_min", 0.0}, {"a_max", 1.0}, {"a_mean", 0.5}}), Error);  // unknown
  EXPECT_THROW(invoke("clip", {x}, {{"a_min", Shape{1, 2}}, {"a_max", 1.0}}), Error);           // wrong type
  EXPECT_THROW(invoke("clip", {}, {{"a_min", 0.0}, {"a_max", 1.0}}), Error);                    // no array
  EXPECT_THROW(nd::Activation(x, "sine"), Error);
}

TEST(Autograd, GradientsOfRecordedOperations) {
  NDArray x = array({1, 2}), y;
  EXPECT_THROW(autograd::grad_of(x), Error);
  EXPECT_THROW(autograd::attach_grad(x, "subtract"), Error);
  autograd::attach_grad(x);
  EXPECT_THROW(autograd::backward(x * x), Error);  // not recorded
  {
    autograd::RecordScope scope(false);
    EXPECT_TRUE(autograd::is_recording());
    EXPECT_FALSE(autograd::is_training());
    y = x * x;
    autograd::PauseScope pause;
    EXPECT_FALSE(autograd::is_recording());
  }
  EXPECT_FALSE(autograd::is_recording());
  autograd::backward(y);
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THROW(autograd::backward(y), Error);  // used up
}

TEST(Metric, AccuracyOfClassesAndScores) {
  metric::Accuracy accuracy;
  accuracy.update(array({0, 1}), array({0, 0}));
  EXPECT_EQ(accuracy.get(), std::pair(std::string("accuracy"), 0.5));
  accuracy.update(array({1, 0}), NDArray::from(std::span<const float>({0.1F, 0.9F, 2.0F, 1.0F}), {2, 2}));
  EXPECT_EQ(accuracy.get().second, 0.75);
  EXPECT_THROW(accuracy.update(array({1}), array({1, 2})), Error);
}

}  // namespace
}  // namespace headrace
