// Metrics: running figures of how well predictions fit labels. Every update waits for the arrays that it is given.
// ValueError: labels and predictions do not fit each other. TypeError: an array is none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::metric {

// Base of all metrics. Those that are sums over samples call add() in update().
class EvalMetric {
 public:
  virtual ~EvalMetric() = default;
  // Takes in one batch.
  virtual void update(const NDArray& labels, const NDArray& preds) = 0;
  // Name and value since the last reset; NaN before the first update.
  std::pair<std::string, double> get() const;
  virtual void reset() noexcept;

 protected:
  explicit EvalMetric(std::string name) : name_(std::move(name)) {}
  EvalMetric(const EvalMetric&) = default;
  EvalMetric& operator=(const EvalMetric&) = default;

  void add(double sum, int64_t count) noexcept;
  // In the place of all that was added.
  void replace(double sum, int64_t count) noexcept;
  virtual double value(double sum, int64_t count) const;
  const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
  double sum_ = 0;
  int64_t count_ = 0;
};

// Share of predictions that are right: class numbers in the shape of the labels, or scores with one more axis, the
// classes on `axis`.
class Accuracy : public EvalMetric {
 public:
  explicit Accuracy(int64_t axis = 1) : EvalMetric("accuracy"), axis_(axis) {}
  void update(const NDArray& labels, const NDArray& preds) override;

 private:
  int64_t axis_;
};

// Share of labels among the `top_k` classes with the highest scores (n, classes). ValueError: top_k below 2.
class TopKAccuracy : public EvalMetric {
 public:
  explicit TopKAccuracy(int64_t top_k);
  void update(const NDArray& labels, const NDArray& preds) override;

 private:
  int64_t top_k_;
};

// Base of the figures of two classes, from scores (n, 2). `average`: "macro", the mean of the figures of single
// updates, or "micro", the figure of all together; ValueError: another word, or labels other than 0 and 1.
class BinaryMetric : public EvalMetric {
 public:
  void update(const NDArray& labels, const NDArray& preds) override;
  void reset() noexcept override;

 protected:
  struct Counts {
    double true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;
    double all() const noexcept { return true_positive + false_positive + true_negative + false_negative; }
  };
  BinaryMetric(std::string name, const std::string& average);
  virtual double figure(const Counts& counts) const = 0;

 private:
  bool is_micro_;
  Counts counts_;
};

// 2 precision recall / (precision + recall).
class F1 : public BinaryMetric {
 public:
  explicit F1(const std::string& average = "macro") : BinaryMetric("f1", average) {}

 private:
  double figure(const Counts& counts) const override;
};

// Matthews' correlation coefficient.
class MCC : public BinaryMetric {
 public:
  explicit MCC(const std::string& average = "macro") : BinaryMetric("mcc", average) {}

 private:
  double figure(const Counts& counts) const override;
};

// The correlation of a confusion matrix (Gorodkin 2004): Matthews' coefficient for any number of classes. Predictions
// are scores (n, classes), or classes in the shape of the labels; all counts since the last reset are one matrix. NaN
// where all labels or all predictions are equal.
class PCC : public EvalMetric {
 public:
  PCC() : EvalMetric("pcc") {}
  void update(const NDArray& labels, const NDArray& preds) override;
  void reset() noexcept override;

 private:
  std::map<std::pair<int64_t, int64_t>, double> counts_;  // by prediction and label
};

// Mean of -log(p[label] + eps) over the samples; predictions are probabilities (n, classes).
class CrossEntropy : public EvalMetric {
 public:
  explicit CrossEntropy(double eps = 1e-12) : CrossEntropy("cross-entropy", eps) {}
  void update(const NDArray& labels, const NDArray& preds) override;

 protected:
  CrossEntropy(std::string name, double eps) : EvalMetric(std::move(name)), eps_(eps) {}

 private:
  double eps_;
};

// The same by another name.
class NegativeLogLikelihood : public CrossEntropy {
 public:
  explicit NegativeLogLikelihood(double eps = 1e-12) : CrossEntropy("nll-loss", eps) {}
};

// exp of the mean of -log(max(p[label], 1e-10)), without labels that are `ignore_label`; predictions are probabilities
// with the classes along `axis`.
class Perplexity : public EvalMetric {
 public:
  explicit Perplexity(std::optional<int64_t> ignore_label = {}, int64_t axis = -1)
      : EvalMetric("perplexity"), ignore_label_(ignore_label), axis_(axis) {}
  void update(const NDArray& labels, const NDArray& preds) override;

 private:
  double value(double sum, int64_t count) const override;

  std::optional<int64_t> ignore_label_;
  int64_t axis_;
};

// Means over the updates of the mean absolute error, of the mean squared error, and of its root.
class MAE : public EvalMetric {
 public:
  MAE() : EvalMetric("mae") {}
  void update(const NDArray& labels, const NDArray& preds) override;
};

class MSE : public EvalMetric {
 public:
  MSE() : EvalMetric("mse") {}
  void update(const NDArray& labels, const NDArray& preds) override;
};

class RMSE : public EvalMetric {
 public:
  RMSE() : EvalMetric("rmse") {}
  void update(const NDArray& labels, const NDArray& preds) override;
};

// Pearson's correlation of labels and predictions; `average` as for BinaryMetric.
class PearsonCorrelation : public EvalMetric {
 public:
  explicit PearsonCorrelation(const std::string& average = "macro");
  void update(const NDArray& labels, const NDArray& preds) override;
  void reset() noexcept override;

 private:
  bool is_micro_;
  std::array<double, 6> moments_{};  // n, sums of x, y, x x, y y, x y
};

// Mean of all values of the predictions, which are losses; labels are not looked at, and may be none.
class Loss : public EvalMetric {
 public:
  Loss() : EvalMetric("loss") {}
  void update(const NDArray& labels, const NDArray& preds) override;
};

}  // namespace headrace::metric
