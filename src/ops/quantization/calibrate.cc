// calibrate_entropy: the range of values whose quantization loses the least information, by a histogram.

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct CalibrateAttrs {
  int64_t num_quantized_bins = 255;
  static constexpr auto kFields =
      fields(field(&CalibrateAttrs::num_quantized_bins, "num_quantized_bins", "Number of quantized values.")
                 .between(1, kMostInt));
};

using Distribution = std::vector<float>;

// Zeros become a small number, which the others lose; empty when there is nothing to take it from.
Distribution smoothed(const Distribution& p) {
  constexpr float kSmall = 0.0001f;
  const auto zeros = std::count(p.begin(), p.end(), 0.0f);
  const auto others = static_cast<std::ptrdiff_t>(p.size()) - zeros;
  const float less = others == 0 ? 1 : kSmall * static_cast<float>(zeros) / static_cast<float>(others);
  if (less >= 1) return {};
  Distribution result = p;
  for (float& one : result) one += one == 0 ? kSmall : -less;
  return result;
}

// The sum of p log(p / q), both normalised.
float divergence(const Distribution& p, const Distribution& q) {
  const float p_sum = std::accumulate(p.begin(), p.end(), 0.0f), q_sum = std::accumulate(q.begin(), q.end(), 0.0f);
  float sum = 0;
  for (size_t k = 0; k < p.size(); ++k) {
    const float a = p[k] / p_sum, b = q[k] / q_sum;
    if (a > 0 && b > 0) sum += a * std::log(a / b);
  }
  return sum;
}

// What quantization to `bins` values makes of the counts: each value's share spread over what is not zero in p.
Distribution quantized_distribution(const std::vector<int64_t>& counts, const Distribution& p, int64_t bins) {
  const auto size = static_cast<int64_t>(counts.size());
  const int64_t merged = size / bins;
  Distribution q(counts.size(), 0);
  for (int64_t j = 0; j < bins; ++j) {
    const int64_t begin = j * merged, end = j == bins - 1 ? size : begin + merged;
    const auto total = std::accumulate(counts.begin() + begin, counts.begin() + end, int64_t{0});
    const auto used = (end - begin) - std::count(counts.begin() + begin, counts.begin() + end, 0);
    for (int64_t k = begin; used > 0 && k < end; ++k)
      if (p[static_cast<size_t>(k)] != 0)
        q[static_cast<size_t>(k)] = static_cast<float>(total) / static_cast<float>(used);
  }
  return q;
}

// How much is lost when only the bins up to `reach` on both sides of the middle are kept apart.
float loss(const float* counts, int64_t bins, int64_t reach, int64_t quantized_bins) {
  const int64_t first = bins / 2 - reach, stop = bins / 2 + reach + 1;
  std::vector<int64_t> inside(static_cast<size_t>(stop - first), 0);
  Distribution p(inside.size(), 0);
  for (int64_t j = 0; j < bins; ++j) {
    const auto at = static_cast<size_t>(std::clamp(j, first, stop - 1) - first);
    p[at] += counts[j];
    if (j > first && j < stop) inside[at] = static_cast<int64_t>(counts[j]);
  }
  const Distribution q = smoothed(quantized_distribution(inside, p, quantized_bins));
  const Distribution smooth = smoothed(p);
  return q.empty() || smooth.empty() ? std::numeric_limits<float>::infinity() : divergence(smooth, q);
}

void infer(Infer& i, const CalibrateAttrs& a) {
  for (size_t k : {0, 1}) expect_type(i, k, i.shape(k), DType::kFloat32);
  i.require(i.size(1) == i.size(0) + 1, ErrorKind::kRuntime, "{} edges are needed for {} bins, got {}", i.size(0) + 1,
            i.size(0), i.size(1));
  i.require(i.size(0) % 2 == 1 && i.size(0) >= a.num_quantized_bins, ErrorKind::kRuntime,
            "an odd number of bins, at least num_quantized_bins={}, is needed; got {}", a.num_quantized_bins,
            i.size(0));
  for (int k = 0; k < 2; ++k) i.output(Shape{1}, DType::kFloat32);
  i.cost(static_cast<double>(i.size(0)) * static_cast<double>(i.size(0)) * 3);
}

void calibrate(KernelContext& c, const CalibrateAttrs& a) {
  const float *counts = c.input(0).as<float>(), *edges = c.input(1).as<float>();
  const int64_t bins = c.input(0).size, least = a.num_quantized_bins / 2, choices = bins / 2 + 1 - least;
  std::vector<float> losses(static_cast<size_t>(choices));
  parallel_for(choices, 1, static_cast<double>(choices * bins) * 6, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      losses[static_cast<size_t>(k)] = loss(counts, bins, k + least, a.num_quantized_bins);
  });
  const auto best = std::min_element(losses.begin(), losses.end()) - losses.begin();
  *c.output(0).as<float>() = edges[bins / 2 + best + least + 1];
  *c.output(1).as<float>() = losses[static_cast<size_t>(best)];
}

}  // namespace

Operators calibrate_operators() {
  std::vector<double> counts, edges;
  for (int k = 0; k < 21; ++k) counts.push_back(21 - std::abs(k - 10));
  for (int k = 0; k < 22; ++k) edges.push_back(k / 10.5 - 1);
  return {general<CalibrateAttrs>(
      {.name = "_contrib_calibrate_entropy",
       .python = {"nd.contrib.calibrate_entropy"},
       .doc = "The threshold that loses least, as Kullback-Leibler divergence, when values up to it are quantized and "
              "those beyond are cut: from counts in bins around 0 (float32) and the edges of the bins. Gives threshold "
              "and "
              "divergence. Raises MXNetError for an even number of bins, or too few.",
       .inputs = {"hist", "hist_edges"},
       .outputs = 2,
       .array_names = {.outputs = {"threshold", "divergence"}},
       .infer = infer,
       .kernel = calibrate,
       .samples = {Sample({values(counts), values(edges)}, make_attrs(CalibrateAttrs{.num_quantized_bins = 7}))}})};
}

}  // namespace headrace
