// Draws from categories with given probabilities.
#include "ops/random/categories.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/index/indices.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

struct MultinomialAttrs {
  Shape shape = {};
  bool get_prob = false;
  DType dtype = DType::kInt32;
  static constexpr auto kFields =
      fields(field(&MultinomialAttrs::shape, "shape", "Draws from each row of probabilities."),
             field(&MultinomialAttrs::get_prob, "get_prob", "Whether to return the log likelihood of the draws too."),
             field(&MultinomialAttrs::dtype, "dtype", "Dtype of the indices."));
};

struct CountsAttrs {
  int64_t n = 1;
  Shape size = {};
  static constexpr auto kFields = fields(field(&CountsAttrs::n, "n", "Number of experiments.").required(),
                                         field(&CountsAttrs::size, "size", "Shape of the draws."));
};

// Each experiment is made, so that a call ends in seconds.
constexpr double kMostExperiments = 0x1p30;

// Running sums of each row, in double.
std::vector<double> cumulative(const Tensor& p, const char* name) {
  std::vector<double> sums(static_cast<size_t>(p.size));
  int64_t k = p.shape.back();
  dispatch(p.dtype, [&]<class T>() {
    for (int64_t row = 0; row < p.size / std::max<int64_t>(k, 1); ++row) {
      double sum = 0;
      for (int64_t i = row * k; i < (row + 1) * k; ++i) {
        double value = static_cast<double>(p.as<T>()[i]);
        check_probability(name, value);
        sums[static_cast<size_t>(i)] = sum += value;
      }
    }
  });
  return sums;
}

// A category by sums that end in about 1 or in what weights that are no probabilities have together. `Real`: of which
// precision the uniform is that decides.
template <class Real, class Stream>
int64_t category(Stream& stream, const double* sums, int64_t k) {
  const double u = uniform_below_sum<Real>(stream, sums[k - 1]);
  return std::min<int64_t>(std::upper_bound(sums, sums + k, u) - sums, k - 1);
}

void infer_multinomial(Infer& i, const MultinomialAttrs& a) {
  const Shape& p = i.shape(0);
  i.require(!p.empty() && p.back() > 0, ErrorKind::kValue,
            "data must hold probabilities along its last axis, got shape {}", to_string(p));
  i.require(is_floating(i.dtype(0)), ErrorKind::kType, "data must be a float array, got {}", dtype_name(i.dtype(0)));
  Shape shape(p.begin(), p.end() - 1);
  for (int64_t extent : a.shape) shape.push_back(extent);
  if (shape.empty()) shape = {1};
  i.output(shape, a.dtype);
  if (a.get_prob) i.output(shape, i.dtype(0));
  i.cost(100 + static_cast<double>(i.size(0)) * 2 + static_cast<double>(element_count(shape)) * 30);
  generators().draw(i, Streams::kSequential);
}

void categories_on_host(KernelContext& c) {
  const Tensor &p = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  std::vector<double> sums = cumulative(p, c.name());
  int64_t k = p.shape.back(), draws = out.size / (p.size / k);
  std::vector<int64_t> drawn(static_cast<size_t>(out.size));
  if (c.ticket() == kMtTicket)  // MXNet's uniforms and sums are floats
    for (double& sum : sums) sum = static_cast<float>(sum);
  const auto draw = [&](auto& stream, int64_t i) {
    using Real = Decider<std::decay_t<decltype(stream)>>;
    drawn[static_cast<size_t>(i)] = category<Real>(stream, sums.data() + i / draws * k, k);
  };
  for_each_sample(c, Streams::kSequential, out.size, 30, draw, 1);
  dispatch(out.dtype, [&]<class T>() {
    for (int64_t i = 0; i < out.size; ++i) out.as<T>()[i] = static_cast<T>(drawn[static_cast<size_t>(i)]);
  });
  if (c.output_count() == 1) return;
  dispatch(p.dtype, [&]<class T>() {
    for (int64_t i = 0; i < out.size; ++i) {
      double value = static_cast<double>(p.as<T>()[i / draws * k + drawn[static_cast<size_t>(i)]]);
      c.output(1).as<T>()[i] = static_cast<T>(static_cast<float>(std::log(value)));
    }
  });
}

void gradient_on_host(KernelContext& c) {
  const Tensor &head = c.input(0), &p = c.input(1), &drawn = c.input(2);
  const int64_t k = p.shape.back();
  if (head.size == 0 || k == 0)
    return static_cast<void>(std::memset(c.output(0).data, 0, static_cast<size_t>(p.size) * item_size(p.dtype)));
  const int64_t draws = head.size / (p.size / k);
  const std::vector<int64_t> choices = read_indices(c.name(), drawn, k, IndexMode::kRaiseNegative, last_axis(p));
  std::vector<double> sums(static_cast<size_t>(p.size));
  dispatch(p.dtype, [&]<class T>() {
    for (int64_t i = 0; i < head.size; ++i) {
      const auto at = static_cast<size_t>(i / draws * k + choices[static_cast<size_t>(i)]);
      sums[at] += static_cast<double>(head.as<T>()[i]) / static_cast<double>(p.as<T>()[at]);
    }
    for (int64_t i = 0; i < p.size; ++i)
      c.output(0).as<T>()[i] = static_cast<T>(static_cast<float>(sums[static_cast<size_t>(i)]));
  });
}

void count_on_host(KernelContext& c, int64_t n) {
  const Tensor &p = c.input(0), &out = c.output(0);
  int64_t k = p.size;
  if (out.size == 0) return;
  std::vector<double> sums = cumulative(p, c.name());
  check_total(c.name(), sums.back());
  sums.back() = std::max(sums.back(), 1.0);
  auto* counts = out.as<int64_t>();
  std::fill(counts, counts + out.size, int64_t{0});
  const auto draw = [&](auto& stream, int64_t i) {
    for (int64_t trial = 0; trial < n; ++trial) ++counts[i * k + category<double>(stream, sums.data(), k)];
  };
  for_each_sample(c, Streams::kSequential, out.size / k, 20.0 * static_cast<double>(n), draw, 2 * n);
}

// d log p[index] / dp = 1 / p[index], at the drawn places.
OpDef multinomial_back() {
  return general<NoAttrs>({
      .name = "_sample_multinomial_back",
      .doc = "Gradient of the log likelihood of draws with respect to the probabilities.",
      .inputs = {"head", "data", "drawn"},
      .infer =
          [](Infer& i, const NoAttrs&) {
            const Shape &head = i.shape(0), &p = i.shape(1);
            i.require(!p.empty() && head == i.shape(2) && head.size() >= p.size() - 1 &&
                          std::equal(p.begin(), p.end() - 1, head.begin()),
                      ErrorKind::kValue, "data {} do not go with head {} and drawn {}", to_string(p), to_string(head),
                      to_string(i.shape(2)));
            i.require(i.dtype(0) == i.dtype(1), ErrorKind::kType, "data hold {}, but head holds {}",
                      dtype_name(i.dtype(1)), dtype_name(i.dtype(0)));
            i.output(p, i.dtype(1));
          },
      .kernel = [](KernelContext& c, const NoAttrs&) { category_gradients(c); },
      .saves_inputs = kNothing,
      .samples = {Sample({uniform({2, 3}), uniform({2, 4}, 0.1, 1), integers({2, 3}, 0, 4)})},
  });
}

OpDef sample_multinomial() {
  return general<MultinomialAttrs>({
      .name = "_sample_multinomial",
      .aliases = {"sample_multinomial"},
      .python = {"nd.random.multinomial", "nd.sample_multinomial"},
      .doc = R"(Indices drawn with the probabilities in the last axis of data.

data of shape (..., k) gives shape data.shape[:-1] + shape. With get_prob=True a second result holds the log likelihood
of each draw; it can be differentiated with respect to data. A negative probability is an MXNetError of the result.)",
      .outputs = 0,
      .output_count = [](const MultinomialAttrs& a) -> size_t { return a.get_prob ? 2 : 1; },
      .result_dtype = [](std::span<const DType> inputs, const MultinomialAttrs& a,
                         size_t k) { return k == 0 ? a.dtype : inputs[0]; },
      .infer = infer_multinomial,
      .kernel = [](KernelContext& c, const MultinomialAttrs&) { draw_categories(c); },
      .gradient =
          [](Gradient& g, const MultinomialAttrs& a) {
            if (a.get_prob && g.has_head(1))
              g.set(0, call("_sample_multinomial_back", {g.head(1), g.input(0), g.output(0)}));
          },
      .saves_outputs = 1,
      .is_random = true,
      .samples = {Sample({uniform({2, 4}, 0.1, 1)}, make_attrs(MultinomialAttrs{.shape = {5}, .get_prob = true})),
                  Sample({uniform({4}, 0.1, 1)}, make_attrs(MultinomialAttrs{.shape = {6}, .dtype = DType::kUint8}))},
  });
}

OpDef np_multinomial() {
  return general<CountsAttrs>({
      .name = "_npi_multinomial",
      .doc = "How often each category comes up in n experiments with probabilities pvals.",
      .inputs = {"pvals"},
      .result_dtype = result_dtypes::always(DType::kInt64),
      .infer =
          [](Infer& i, const CountsAttrs& a) {
            i.require(i.shape(0).size() == 1, ErrorKind::kValue, "pvals must have one axis, got shape {}",
                      to_string(i.shape(0)));
            i.require(a.n >= 0, ErrorKind::kValue, "n must not be negative, got {}", a.n);
            expect_extents(i, a.size);
            const double experiments = static_cast<double>(element_count(a.size)) * static_cast<double>(a.n);
            i.require(experiments <= kMostExperiments, ErrorKind::kValue,
                      "n={} and size {} make {:.0f} experiments, more than {:.0f}; make fewer in a call", a.n,
                      to_string(a.size), experiments, kMostExperiments);
            Shape shape = a.size;
            shape.push_back(i.shape(0)[0]);
            i.output(shape, DType::kInt64);
            i.cost(100 + experiments * 20);
            generators().draw(i, Streams::kSequential);
          },
      .kernel = [](KernelContext& c, const CountsAttrs& a) { count_categories(c, a.n); },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .is_random = true,
      .samples = {Sample({values({0.2, 0.5, 0.3})}, make_attrs(CountsAttrs{.n = 20, .size = {2, 2}}))},
  });
}

}  // namespace

void check_probability(const char* name, double p) {
  check(p >= 0, ErrorKind::kValue, "{}: probabilities must not be negative, got {}", name, p);
}

void check_total(const char* name, double sum) {
  check(sum <= 1 + 1e-5, ErrorKind::kValue, "{}: the probabilities sum to {}, more than 1", name, sum);
}

const decltype(draw_categories) draw_categories{"draw_categories", categories_on_host};
const decltype(category_gradients) category_gradients{"category_gradients", gradient_on_host};
const decltype(count_categories) count_categories{"count_categories", count_on_host};

Operators multinomial_operators() { return {sample_multinomial(), multinomial_back(), np_multinomial()}; }

}  // namespace headrace
