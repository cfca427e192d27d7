#include "headrace/metric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "op/invoke.h"

namespace headrace::metric {
namespace {

void check_arrays(const std::string& name, const NDArray& labels, const NDArray& preds) {
  check(labels && preds, ErrorKind::kType, "{}: the {} are none; give arrays", name, labels ? "predictions" : "labels");
}

void check_fit(const std::string& name, bool fits, const NDArray& labels, const NDArray& preds) {
  check(fits, ErrorKind::kValue, "{}: labels have shape {}, but predictions {}", name, to_string(labels.shape()),
        to_string(preds.shape()));
}

std::vector<int64_t> whole_numbers(const NDArray& array) { return cast_to(array, DType::kInt64).to_vector<int64_t>(); }

std::vector<float> floats(const NDArray& array) { return cast_to(array, DType::kFloat32).to_vector<float>(); }

// A value for each label, from scores whose last axis is that of the classes.
struct Scores {
  std::vector<int64_t> labels;
  std::vector<float> values;
  int64_t classes;

  std::span<const float> row(size_t k) const {
    return std::span(values).subspan(k * static_cast<size_t>(classes), static_cast<size_t>(classes));
  }
};

Scores scores_of(const std::string& name, const NDArray& labels, const NDArray& preds) {
  check_arrays(name, labels, preds);
  const int64_t classes = preds.ndim() == 0 ? 1 : preds.shape().back();
  const bool has_class = classes > 0 || labels.size() == 0;
  check_fit(name, has_class && labels.size() * classes == preds.size(), labels, preds);
  return {whole_numbers(labels), floats(preds), classes};
}

Scores rows_of(const std::string& name, const NDArray& labels, const NDArray& preds) {
  Scores scores = scores_of(name, labels, preds);
  check(preds.ndim() == 2, ErrorKind::kValue, "{}: expected predictions of shape (n, classes), got {}", name,
        to_string(preds.shape()));
  return scores;
}

// label - prediction.
std::vector<double> differences(const std::string& name, const NDArray& labels, const NDArray& preds) {
  check_arrays(name, labels, preds);
  check_fit(name, labels.size() == preds.size(), labels, preds);
  const std::vector<float> expected = floats(labels), found = floats(preds);
  std::vector<double> result(expected.size());
  std::ranges::transform(expected, found, result.begin(), [](float a, float b) { return double{a} - double{b}; });
  return result;
}

template <class F>
double mean_of(const std::vector<double>& numbers, F&& figure) {
  const double sum = std::transform_reduce(numbers.begin(), numbers.end(), 0.0, std::plus<>(), figure);
  return sum / static_cast<double>(numbers.size());
}

double squared(double x) { return x * x; }

bool is_micro(const char* name, const std::string& average) {
  check(average == "macro" || average == "micro", ErrorKind::kValue, "{}: average must be macro or micro, got {}", name,
        average);
  return average == "micro";
}

}  // namespace

// --- what all have ---------------------------------------------------------------------------------------------------

std::pair<std::string, double> EvalMetric::get() const { return {name_, count_ ? value(sum_, count_) : kNan}; }
void EvalMetric::reset() noexcept { replace(0, 0); }
double EvalMetric::value(double sum, int64_t count) const { return sum / static_cast<double>(count); }

void EvalMetric::add(double sum, int64_t count) noexcept { replace(sum_ + sum, count_ + count); }

void EvalMetric::replace(double sum, int64_t count) noexcept {
  sum_ = sum;
  count_ = count;
}

// --- classes ---------------------------------------------------------------------------------------------------------

void Accuracy::update(const NDArray& labels, const NDArray& preds) {
  check_arrays("Accuracy", labels, preds);
  const bool has_scores = preds.ndim() > labels.ndim() || preds.size() > labels.size();
  const NDArray classes = has_scores ? call("argmax", {preds}, {{"axis", axis_}}) : preds;
  check_fit("Accuracy", classes.size() == labels.size(), labels, preds);
  const std::vector<int64_t> expected = whole_numbers(labels), found = whole_numbers(classes);
  const auto right = std::transform_reduce(expected.begin(), expected.end(), found.begin(), int64_t{0}, std::plus<>(),
                                           std::equal_to<>());
  add(static_cast<double>(right), labels.size());
}

TopKAccuracy::TopKAccuracy(int64_t top_k) : EvalMetric("top_k_accuracy_" + std::to_string(top_k)), top_k_(top_k) {
  check(top_k > 1, ErrorKind::kValue, "TopKAccuracy: top_k must be more than 1, got {}; use Accuracy", top_k);
}

void TopKAccuracy::update(const NDArray& labels, const NDArray& preds) {
  const Scores scores = rows_of("TopKAccuracy", labels, preds);
  int64_t right = 0;
  for (size_t k = 0; k < scores.labels.size(); ++k) {
    const std::span<const float> row = scores.row(k);
    const auto label = static_cast<size_t>(scores.labels[k]);
    if (label >= row.size()) continue;
    // Of equal scores those of later classes count as higher.
    int64_t above = std::ranges::count_if(row, [&](float score) { return score > row[label]; });
    above += std::ranges::count(row.subspan(label + 1), row[label]);
    right += above < top_k_;
  }
  add(static_cast<double>(right), labels.size());
}

BinaryMetric::BinaryMetric(std::string name, const std::string& average)
    : EvalMetric(std::move(name)), is_micro_(is_micro(this->name().c_str(), average)) {}

void BinaryMetric::update(const NDArray& labels, const NDArray& preds) {
  const Scores scores = rows_of(name(), labels, preds);
  Counts counts = is_micro_ ? counts_ : Counts();
  for (size_t k = 0; k < scores.labels.size(); ++k) {
    const std::span<const float> row = scores.row(k);
    const auto chosen = std::ranges::max_element(row) - row.begin();
    const int64_t label = scores.labels[k];
    check(label == 0 || label == 1, ErrorKind::kValue, "{}: labels must be 0 or 1, got {}", name(), label);
    if (chosen == 1) ++(label == 1 ? counts.true_positive : counts.false_positive);
    if (chosen == 0) ++(label == 0 ? counts.true_negative : counts.false_negative);
  }
  if (!is_micro_) return add(figure(counts), 1);
  counts_ = counts;
  replace(figure(counts), 1);
}

void BinaryMetric::reset() noexcept {
  EvalMetric::reset();
  counts_ = {};
}

double F1::figure(const Counts& c) const {
  return c.true_positive > 0 ? 2 * c.true_positive / (2 * c.true_positive + c.false_positive + c.false_negative) : 0;
}

double MCC::figure(const Counts& c) const {
  if (c.all() == 0) return 0;
  double product = 1;
  for (const double factor : {c.true_positive + c.false_positive, c.true_positive + c.false_negative,
                              c.true_negative + c.false_positive, c.true_negative + c.false_negative})
    if (factor > 0) product *= factor;
  return (c.true_positive * c.true_negative - c.false_positive * c.false_negative) / std::sqrt(product);
}

void PCC::update(const NDArray& labels, const NDArray& preds) {
  check_arrays("PCC", labels, preds);
  const NDArray classes = preds.shape() == labels.shape() ? preds : call("argmax", {preds}, {{"axis", int64_t{1}}});
  check_fit("PCC", classes.size() == labels.size(), labels, preds);
  const std::vector<int64_t> expected = whole_numbers(labels), found = whole_numbers(classes);
  for (size_t k = 0; k < expected.size(); ++k) ++counts_[{found[k], expected[k]}];
  std::map<int64_t, double> of_found, of_expected;
  double all = 0, right = 0;
  for (const auto& [pair, count] : counts_) {
    of_found[pair.first] += count;
    of_expected[pair.second] += count;
    all += count;
    if (pair.first == pair.second) right += count;
  }
  double product = 0, found_squares = 0, expected_squares = 0;
  for (const auto& [one, count] : of_found) {
    found_squares += squared(count);
    if (const auto same = of_expected.find(one); same != of_expected.end()) product += count * same->second;
  }
  for (const auto& [one, count] : of_expected) expected_squares += squared(count);
  const double scale = std::sqrt((all * all - found_squares) * (all * all - expected_squares));
  replace(scale > 0 ? (all * right - product) / scale : kNan, 1);
}

void PCC::reset() noexcept {
  EvalMetric::reset();
  counts_.clear();
}

void CrossEntropy::update(const NDArray& labels, const NDArray& preds) {
  const Scores scores = rows_of(name(), labels, preds);
  double sum = 0;
  for (size_t k = 0; k < scores.labels.size(); ++k) {
    const int64_t label = scores.labels[k];
    check(label >= 0 && label < scores.classes, ErrorKind::kValue, "{}: there are {} classes, but a label is {}",
          name(), scores.classes, label);
    sum -= std::log(double{scores.row(k)[static_cast<size_t>(label)]} + eps_);
  }
  add(sum, labels.size());
}

void Perplexity::update(const NDArray& labels, const NDArray& preds) {
  check_arrays("Perplexity", labels, preds);
  const NDArray last =
      axis_ == -1 ? preds : call("_np_moveaxis", {preds}, {{"source", Shape{axis_}}, {"destination", Shape{-1}}});
  const Scores scores = scores_of("Perplexity", labels, last);
  double sum = 0;
  int64_t count = 0;
  for (size_t k = 0; k < scores.labels.size(); ++k) {
    const int64_t label = scores.labels[k];
    if (label == ignore_label_) continue;
    const int64_t chosen = std::clamp<int64_t>(label, 0, scores.classes - 1);
    sum -= std::log(std::max(double{scores.row(k)[static_cast<size_t>(chosen)]}, 1e-10));
    ++count;
  }
  add(sum, count);
}

double Perplexity::value(double sum, int64_t count) const { return std::exp(sum / static_cast<double>(count)); }

// --- numbers ---------------------------------------------------------------------------------------------------------

void MAE::update(const NDArray& labels, const NDArray& preds) {
  add(mean_of(differences("MAE", labels, preds), [](double x) { return std::abs(x); }), 1);
}

void MSE::update(const NDArray& labels, const NDArray& preds) {
  add(mean_of(differences("MSE", labels, preds), squared), 1);
}

void RMSE::update(const NDArray& labels, const NDArray& preds) {
  add(std::sqrt(mean_of(differences("RMSE", labels, preds), squared)), 1);
}

PearsonCorrelation::PearsonCorrelation(const std::string& average)
    : EvalMetric("pearsonr"), is_micro_(is_micro("PearsonCorrelation", average)) {}

void PearsonCorrelation::update(const NDArray& labels, const NDArray& preds) {
  check_arrays("PearsonCorrelation", labels, preds);
  check_fit("PearsonCorrelation", labels.shape() == preds.shape(), labels, preds);
  const std::vector<float> xs = floats(labels), ys = floats(preds);
  std::array<double, 6> m = is_micro_ ? moments_ : std::array<double, 6>{};
  m[0] += static_cast<double>(xs.size());
  for (size_t k = 0; k < xs.size(); ++k) {
    const double x = xs[k], y = ys[k];
    m[1] += x;
    m[2] += y;
    m[3] += x * x;
    m[4] += y * y;
    m[5] += x * y;
  }
  const double figure =
      (m[0] * m[5] - m[1] * m[2]) / std::sqrt((m[0] * m[3] - m[1] * m[1]) * (m[0] * m[4] - m[2] * m[2]));
  if (!is_micro_) return add(figure, 1);
  moments_ = m;
  replace(figure, 1);
}

void PearsonCorrelation::reset() noexcept {
  EvalMetric::reset();
  moments_ = {};
}

void Loss::update(const NDArray& /*labels*/, const NDArray& preds) {
  check(static_cast<bool>(preds), ErrorKind::kType, "Loss: the predictions are none; give arrays");
  const std::vector<float> values = floats(preds);
  add(std::accumulate(values.begin(), values.end(), 0.0), preds.size());
}

}  // namespace headrace::metric
