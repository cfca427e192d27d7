// Losses: values that follow from their formulas, weights, other batch axes, gradients of what flows through them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

namespace loss = gluon::loss;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

void expect_values(const NDArray& result, const Shape& shape, const std::vector<float>& values) {
  EXPECT_EQ(result.shape(), shape);
  EXPECT_THAT(result.to_vector<float>(), Pointwise(FloatNear(1e-5F), values));
}

const NDArray& pair_of_scores() {
  static const NDArray scores = array({0.5, 3}, {2, 1});
  return scores;
}

TEST(Losses, OfLabelsThatAreSigns) {
  const NDArray signs = array({1, -1}, {2, 1});
  expect_values(loss::HingeLoss()(pair_of_scores(), signs), {2}, {0.5, 4});
  expect_values(loss::HingeLoss{.margin = 2}(pair_of_scores(), signs), {2}, {1.5, 5});
  expect_values(loss::SquaredHingeLoss()(pair_of_scores(), signs), {2}, {0.25, 16});
  expect_values(loss::LogisticLoss()(pair_of_scores(), signs), {2}, {0.474077F, 3.0485873F});
  const NDArray bits = array({1, 0}, {2, 1});
  expect_values(loss::LogisticLoss{.label_format = "binary"}(pair_of_scores(), bits), {2}, {0.474077F, 3.0485873F});
  EXPECT_EQ(kind_of([&] { loss::LogisticLoss{.label_format = "words"}(pair_of_scores(), bits); }), ErrorKind::kValue);
}

TEST(Losses, OfYesAndNo) {
  const NDArray scores = array({2, -1}, {2, 1}), bits = array({1, 0}, {2, 1});
  const std::vector<float> expected{0.126928F, 0.3132617F};
  expect_values(loss::SigmoidBinaryCrossEntropyLoss()(scores, bits), {2}, expected);
  expect_values(loss::SigmoidBinaryCrossEntropyLoss{.from_sigmoid = true}(nd::sigmoid(scores), bits), {2}, expected);
  const NDArray pos_weight = array({3});
  expect_values(loss::SigmoidBinaryCrossEntropyLoss()(scores, bits, {}, pos_weight), {2},
                {3 * expected[0], expected[1]});
  expect_values(loss::SigmoidBinaryCrossEntropyLoss{.from_sigmoid = true}(nd::sigmoid(scores), bits, {}, pos_weight),
                {2}, {3 * expected[0], expected[1]});
}

TEST(Losses, OfDistributions) {
  const NDArray scores = array({0, 1, 1, 0}, {2, 2}), label = array({0.5, 0.5, 0.8, 0.2}, {2, 2});
  const std::vector<float> expected{0.12011454F, 0.01285928F};
  expect_values(loss::KLDivLoss{.from_logits = false}(scores, label), {2}, expected);
  expect_values(loss::KLDivLoss()(nd::log_softmax(scores), label), {2}, expected);
  expect_values(loss::PoissonNLLLoss()(array({0.5, 1}, {1, 2}), array({1, 3}, {1, 2})), {1}, {0.43350148F});
  const float stirling = 3 * std::log(3.0F) - 3 + 0.5F * std::log(2 * 3.14159265F * 3);
  expect_values(loss::PoissonNLLLoss{.compute_full = true}(array({0.5, 1}, {1, 2}), array({1, 3}, {1, 2})), {1},
                {0.43350148F + stirling / 2});
  expect_values(loss::PoissonNLLLoss{.from_logits = false}(array({1, 2}, {1, 2}), array({0, 2}, {1, 2})), {1},
                {(1 + 2 - 2 * std::log(2.0F)) / 2});
}

TEST(Losses, OfDistances) {
  expect_values(loss::HuberLoss()(pair_of_scores(), array({0, 0}, {2, 1})), {2}, {0.125, 2.5});
  const NDArray anchor = array({0, 0, 0, 0}, {2, 2}), near = array({0, 1, 2, 0}, {2, 2}),
                far = array({1, 1, 1, 1}, {2, 2});
  expect_values(loss::TripletLoss()(anchor, near, far), {2}, {0, 3});
  const NDArray a = array({1, 0, 1, 0, 1, 0}, {3, 2}), b = array({1, 1, 1, 1, 1, 1}, {3, 2});
  expect_values(loss::CosineEmbeddingLoss()(a, b, array({1, -1, 0})), {3, 1}, {0.29289323F, 0.70710677F, 0});
  expect_values(loss::CosineEmbeddingLoss{.margin = 0.5}(a, b, array({1, -1, 0})), {3, 1},
                {0.29289323F, 0.20710677F, 0});
}

TEST(Losses, OfPairs) {
  const NDArray x = array({1, 0, 0, 1}, {2, 2});
  expect_values(loss::SDMLLoss()(x, x), {2}, {0.11606371F, 0.11606371F});
  expect_values(loss::SDMLLoss{.smoothing_parameter = 0.5, .weight = 2}(x, nd::zeros({2, 2})), {2}, {0, 0});
  EXPECT_EQ(kind_of([&] { loss::SDMLLoss()(array({1, 2}), array({1, 2})); }), ErrorKind::kValue);
}

TEST(Losses, OfSequences) {
  const NDArray scores = nd::zeros({1, 4, 3}), label = array({0, 1}, {1, 2});
  const std::vector<float> expected{1.686399F};
  expect_values(loss::CTCLoss()(scores, label), {1}, expected);
  const loss::CTCLoss steps_first{.layout = "TNC", .label_layout = "TN"};
  expect_values(steps_first(nd::swapaxes(scores, {.dim1 = 0, .dim2 = 1}), array({0, 1}, {2, 1})), {1}, expected);
  const NDArray longer = nd::zeros({1, 6, 3}), padded = array({0, 1, 2}, {1, 3});
  expect_values(loss::CTCLoss()(longer, padded, array({4}), array({2})), {1}, expected);
  expect_values(loss::CTCLoss()(scores, padded, {}, array({2})), {1}, expected);
  EXPECT_EQ(kind_of([&] { loss::CTCLoss{.layout = "CTN"}(scores, label); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { loss::CTCLoss{.label_layout = "T"}(scores, label); }), ErrorKind::kValue);
}

TEST(Losses, AreWeighted) {
  const NDArray pred = array({1, 2, 3, 4}, {2, 2}), label = array({1, 0, 3, 0}, {2, 2});
  expect_values(loss::L2Loss()(pred, label), {2}, {1, 4});
  expect_values(loss::L2Loss{.weight = 3}(pred, label), {2}, {3, 12});
  expect_values(loss::L2Loss{.batch_axis = 1}(pred, label), {2}, {0, 5});
  expect_values(loss::L2Loss()(pred, label, array({2, 0.5}, {2, 1})), {2}, {2, 2});
  expect_values(loss::L1Loss{.weight = 0.5}(pred, label, array({1, 0}, {2, 1})), {2}, {0.5, 0});
  const loss::SoftmaxCrossEntropyLoss doubled{.weight = 2};
  expect_values(doubled(nd::zeros({2, 2}), array({0, 1})), {2}, {2 * std::log(2.0F), 2 * std::log(2.0F)});
  expect_values(loss::TripletLoss{.weight = 2}(pred, pred, pred, array({1, 3})), {2}, {2, 6});
}

TEST(Losses, PassGradients) {
  NDArray x = array({0.5, 3}, {2, 1});
  autograd::attach_grad(x);
  {
    autograd::RecordScope scope;
    autograd::backward(loss::HuberLoss()(x, array({0, 0}, {2, 1})));
  }
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(0.5, 1));
}

TEST(Losses, SayWhatDoesNotFit) {
  const NDArray two = array({1, 2}), three = array({1, 2, 3});
  EXPECT_EQ(kind_of([&] { loss::HuberLoss()(two, three); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] { loss::KLDivLoss()(two, {}); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { loss::CTCLoss()({}, two); }), ErrorKind::kType);
}

}  // namespace
}  // namespace headrace
