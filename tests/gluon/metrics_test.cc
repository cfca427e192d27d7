// Metrics: the values of Python's for the same batches.
#include <gtest/gtest.h>

#include <cmath>
#include <headrace/headrace.hpp>

#include "tests/support/arrays.h"

namespace headrace {
namespace {

using metric::EvalMetric;

NDArray labels() { return array({0, 1, 1}); }
NDArray scores() { return array({0.9, 0.1, 0.4, 0.6, 0.7, 0.3}, {3, 2}); }

void expect_value(EvalMetric&& metric, const NDArray& expected, const NDArray& found, const char* name, double value) {
  EXPECT_TRUE(std::isnan(metric.get().second));
  metric.update(expected, found);
  EXPECT_EQ(metric.get().first, name);
  EXPECT_NEAR(metric.get().second, value, 1e-6);
  metric.reset();
  EXPECT_TRUE(std::isnan(metric.get().second));
}

TEST(Metrics, OfClasses) {
  expect_value(metric::Accuracy(), labels(), scores(), "accuracy", 2.0 / 3);
  expect_value(metric::Accuracy(), np::reshape(labels(), {3, 1}), scores(), "accuracy", 2.0 / 3);
  expect_value(metric::Accuracy(0), array({0, 2}), scores(), "accuracy", 0.5);
  expect_value(metric::TopKAccuracy(2), array({2, 0}), array({0.1, 0.5, 0.4, 0.2, 0.3, 0.5}, {2, 3}),
               "top_k_accuracy_2", 0.5);
  expect_value(metric::F1(), labels(), scores(), "f1", 2.0 / 3);
  expect_value(metric::MCC(), labels(), scores(), "mcc", 0.5);
  expect_value(metric::PCC(), labels(), scores(), "pcc", 0.5);
  expect_value(metric::PCC(), array({0, 1, 2, 2}), array({0, 1, 2, 1}), "pcc", 7 / std::sqrt(100.0));
  expect_value(metric::CrossEntropy(), labels(), scores(), "cross-entropy", 0.6067196453611056);
  expect_value(metric::NegativeLogLikelihood(), labels(), scores(), "nll-loss", 0.6067196453611056);
  expect_value(metric::Perplexity(), labels(), scores(), "perplexity", 1.834404022475901);
  expect_value(metric::Perplexity(0), labels(), scores(), "perplexity", std::exp(-(std::log(0.6) + std::log(0.3)) / 2));
  expect_value(metric::Perplexity({}, 0), labels(), nd::transpose(scores()), "perplexity", 1.834404022475901);
}

TEST(Metrics, PredictionsHaveAClass) {
  metric::Perplexity perplexity;
  EXPECT_THROW(perplexity.update(labels(), array({}, {3, 0})), Error);
}

TEST(Metrics, OfNumbers) {
  const NDArray expected = array({1, 2, 3}), found = array({1, 3, 5});
  expect_value(metric::MAE(), expected, found, "mae", 1);
  expect_value(metric::MSE(), expected, found, "mse", 5.0 / 3);
  expect_value(metric::RMSE(), expected, found, "rmse", std::sqrt(5.0 / 3));
  expect_value(metric::PearsonCorrelation(), expected, array({1, 3, 4}), "pearsonr", 0.9819805060619656);
  expect_value(metric::Loss(), {}, array({1, 3}), "loss", 2);
}

TEST(Metrics, OfSeveralBatches) {
  metric::F1 macro, micro("micro");
  metric::PearsonCorrelation parts, all("micro");
  metric::RMSE rmse;
  for (const bool second : {false, true}) {
    const NDArray classes = second ? array({1, 0, 1}) : labels();
    macro.update(classes, scores());
    micro.update(classes, scores());
    const NDArray x = second ? array({4, 0}) : array({1, 2}), y = second ? array({1, 5}) : array({2, 4});
    parts.update(x, y);
    all.update(x, y);
    rmse.update(x, y);
  }
  EXPECT_NEAR(macro.get().second, (2.0 / 3 + 0) / 2, 1e-12);
  EXPECT_NEAR(micro.get().second, 2.0 / (2 + 1 + 3), 1e-12);  // one true, one false positive, three false negatives
  EXPECT_NEAR(parts.get().second, 0, 1e-12);
  const double n = 4, xs = 7, ys = 12, xx = 21, yy = 46, xy = 14;
  EXPECT_NEAR(all.get().second, (n * xy - xs * ys) / std::sqrt((n * xx - xs * xs) * (n * yy - ys * ys)), 1e-12);
  EXPECT_NEAR(rmse.get().second, (std::sqrt(5.0 / 2) + std::sqrt(34.0 / 2)) / 2, 1e-6);
}

TEST(Metrics, SayWhatDoesNotFit) {
  EXPECT_EQ(kind_of([] { metric::TopKAccuracy(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { metric::F1("mean"); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { metric::F1().update(array({0, 2}), array({1, 2, 3, 4}, {2, 2})); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] {
              metric::CrossEntropy().update(array({0, 2}), array({1, 2, 3, 4}, {2, 2}));
            }),
            ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { metric::MAE().update(array({0, 2}), array({1})); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { metric::MSE().update({}, array({1})); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([] { metric::Loss().update({}, {}); }), ErrorKind::kType);
}

}  // namespace
}  // namespace headrace
