// The likelihood of marked Hawkes processes: events of several kinds, each of which makes more of its kind likely for a
// while, with the intensity lda + alpha * beta * sum of exp(-beta * age) over events.

#include <cmath>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

enum Input : size_t { kLda, kAlpha, kBeta, kState, kLags, kMarks, kValidLength, kMaxTime, kInputs };

// Checks the inputs, which begin at number `first`.
void check_inputs(const Infer& i, size_t first) {
  const Shape &lda = i.shape(first + kLda), &lags = i.shape(first + kLags);
  const DType dtype = i.dtype(first + kLda);
  expect_floats(i, first + kLda);
  i.require(lda.size() == 2 && lags.size() == 2, ErrorKind::kRuntime,
            "lda of shape (batch, marks) and lags of shape (batch, time) are needed, got {} and {}", to_string(lda),
            to_string(lags));
  const int64_t batch = lags[0], marks = lda[1];
  expect_type(i, first + kLda, Shape{batch, marks}, dtype);
  for (size_t k : {kAlpha, kBeta}) expect_type(i, first + k, Shape{marks}, dtype);
  expect_type(i, first + kState, Shape{batch, marks}, dtype);
  expect_type(i, first + kLags, lags, dtype);
  expect_type(i, first + kMarks, lags, DType::kInt32);
  for (size_t k : {kValidLength, kMaxTime}) expect_type(i, first + k, Shape{batch}, dtype);
}

// An input's numbers as doubles.
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> list(static_cast<size_t>(tensor.size));
  load_function(tensor.dtype, ComputeType::kFloat64)(list.data(), tensor.data, 1, tensor.size);
  return list;
}

void write(const std::vector<double>& list, const Tensor& to) {
  store_function(ComputeType::kFloat64, to.dtype)(list.data(), to.data, 1, to.size);
}

// All arrays of a call, and how events of one sample are gone through.
struct Processes {
  Processes(const KernelContext& c, size_t first)
      : name(c.name()),
        lda(numbers(c.input(first + kLda))),
        alpha(numbers(c.input(first + kAlpha))),
        beta(numbers(c.input(first + kBeta))),
        state(numbers(c.input(first + kState))),
        lags(numbers(c.input(first + kLags))),
        lengths(numbers(c.input(first + kValidLength))),
        ends(numbers(c.input(first + kMaxTime))),
        marks(c.input(first + kMarks).as<int32_t>()),
        batch(c.input(first + kLags).shape[0]),
        time(c.input(first + kLags).shape[1]),
        kinds(c.input(first + kLda).shape[1]) {}

  // Calls event(kind, time since the last one of its kind) for each event of sample n, then rest(kind, time to the
  // end).
  template <class Event, class Rest>
  void follow(int64_t n, Event&& event, Rest&& rest) const {
    std::vector<double> last(static_cast<size_t>(kinds), 0);
    double now = 0;
    const double length = lengths[static_cast<size_t>(n)];
    for (int64_t j = 0; j < time && static_cast<double>(j) < length; ++j) {
      const int32_t kind = marks[n * time + j];
      check(kind >= 0 && kind < kinds, ErrorKind::kValue, "{}: marks must be from 0 to {}, got {}", name, kinds - 1,
            kind);
      now += lags[static_cast<size_t>(n * time + j)];
      event(static_cast<size_t>(kind), now - last[static_cast<size_t>(kind)]);
      last[static_cast<size_t>(kind)] = now;
    }
    for (size_t k = 0; k < last.size(); ++k) rest(k, ends[static_cast<size_t>(n)] - last[k]);
  }
  template <class F>
  void for_each_sample(F&& body) const {
    parallel_for(batch, 1, static_cast<double>(batch * (time + kinds)) * 60, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n);
    });
  }

  const char* name;
  std::vector<double> lda, alpha, beta, state, lags, lengths, ends;
  const int32_t* marks;
  int64_t batch, time, kinds;
};

void likelihood(KernelContext& c, const NoAttrs&) {
  Processes p(c, 0);
  std::vector<double> logs(static_cast<size_t>(p.batch));
  std::vector<double> states = p.state;
  p.for_each_sample([&](int64_t n) {
    const double* lda = p.lda.data() + n * p.kinds;
    double* state = states.data() + n * p.kinds;
    double sum = 0;
    const auto expected = [&](size_t k, double d, double decay) {  // number of events meanwhile
      return lda[k] * d + p.alpha[k] * state[k] * (1 - decay);
    };
    p.follow(
        n,
        [&](size_t k, double d) {
          const double decay = std::exp(-p.beta[k] * d);
          sum += std::log(lda[k] + p.alpha[k] * p.beta[k] * state[k] * decay) - expected(k, d, decay);
          state[k] = 1 + state[k] * decay;
        },
        [&](size_t k, double d) {
          const double decay = std::exp(-p.beta[k] * d);
          sum -= expected(k, d, decay);
          state[k] *= decay;
        });
    logs[static_cast<size_t>(n)] = sum;
  });
  write(logs, c.output(0));
  write(states, c.output(1));
}

// Gradients of lda, and of alpha and beta for each sample: (batch, kinds) each.
void likelihood_gradient(KernelContext& c, const NoAttrs&) {
  Processes p(c, 1);
  const std::vector<double> heads = numbers(c.input(0));
  std::vector<double> of_lda(p.lda.size(), 0), of_alpha = of_lda, of_beta = of_lda;
  p.for_each_sample([&](int64_t n) {
    const int64_t row = n * p.kinds;
    std::vector<double> state(p.state.begin() + row, p.state.begin() + row + p.kinds), slope(state.size(), 0);
    double *lda = of_lda.data() + row, *alpha = of_alpha.data() + row, *beta = of_beta.data() + row;
    const auto subtract_expected = [&](size_t k, double d, double decay) {
      lda[k] -= d;
      alpha[k] -= state[k] * (1 - decay);
      beta[k] -= p.alpha[k] * (slope[k] * (1 - decay) + state[k] * d * decay);
    };
    p.follow(
        n,
        [&](size_t k, double d) {
          const double a = p.alpha[k], b = p.beta[k], decay = std::exp(-b * d);
          const double intensity = p.lda[static_cast<size_t>(row) + k] + a * b * state[k] * decay;
          lda[k] += 1 / intensity;
          alpha[k] += b * state[k] * decay / intensity;
          beta[k] += a * decay * (state[k] * (1 - b * d) + b * slope[k]) / intensity;
          subtract_expected(k, d, decay);
          slope[k] = decay * (slope[k] - d * state[k]);  // of the state, along beta
          state[k] = 1 + state[k] * decay;
        },
        [&](size_t k, double d) { subtract_expected(k, d, std::exp(-p.beta[k] * d)); });
    for (int64_t k = 0; k < p.kinds; ++k)
      for (double* one : {lda, alpha, beta}) one[k] *= heads[static_cast<size_t>(n)];
  });
  write(of_lda, c.output(0));
  write(of_alpha, c.output(1));
  write(of_beta, c.output(2));
}

void gradient(Gradient& g, const NoAttrs&) {
  if (g.has_head(0)) {
    std::vector<NDArray> inputs{g.head(0)};
    for (size_t k = 0; k < kInputs; ++k) inputs.push_back(g.input(k));
    const OpDef& op = find_op("_backward_hawkesll");
    const std::vector<NDArray> results = invoke_all(op, op.default_attrs, inputs);
    g.set(kLda, results[0]);
    for (size_t k : {kAlpha, kBeta}) g.set(k, call("sum", {results[k]}, {{"axis", Shape{0}}}));
  }
  for (size_t k = g.has_head(0) ? kState : kLda; k < kInputs; ++k)
    if (g.wants(k)) g.set(k, zeros_like(g.input(k)));
}

const std::vector<std::string> kNames = {"lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time"};

Sample sample() {
  SampleArray state = values({0, 0.5, 1, 0}), lags = values({1, 2, 0.5, 0.2, 1, 3}), marks = values({0, 1, 0, 1, 1, 0});
  state.shape = {2, 2};
  lags.shape = marks.shape = {2, 3};
  marks.dtype = DType::kInt32;
  return {{uniform({2, 2}, 0.5, 1.5), uniform({2}, 0.2, 0.8), uniform({2}, 0.5, 2), state, lags, marks, values({3, 2}),
           values({4, 5})}};
}

}  // namespace

Operators hawkes_operators() {
  std::vector<std::string> backward_names{"head"};
  backward_names.insert(backward_names.end(), kNames.begin(), kNames.end());
  return {
      general({.name = "_contrib_hawkesll",
               .python = {"nd.contrib.hawkesll"},
               .doc = R"(The log-likelihood of events of several kinds, and the state in which they leave the process.

Kind k has the intensity lda[n, k] + alpha[k] * beta[k] * sum of exp(-beta[k] * age) over its events before. `lda` and
`state` are (batch, kinds), `alpha` and `beta` (kinds,); `lags` (batch, time) are the times since the event before and
`marks` (int32) the kinds, of which the first valid_length[n] count; the observation ends at max_time[n]. Gives shapes
(batch,) and (batch, kinds). Gradients go to lda, alpha and beta, from the likelihood alone.

Raises MXNetError for arrays of other shapes or dtypes, ValueError for marks that are no kinds.)",
               .inputs = kNames,
               .outputs = 2,
               .array_names = {.outputs = {"output", "out_state"}},
               .infer =
                   [](Infer& i, const NoAttrs&) {
                     check_inputs(i, 0);
                     i.output(Shape{i.shape(kLags)[0]}, i.dtype(kLda));
                     i.output(i.shape(kLda), i.dtype(kLda));
                   },
               .kernel = likelihood,
               .gradient = gradient,
               .own_gradient = true,
               .samples = {sample()}}),
      general({.name = "_backward_hawkesll",
               .doc = "Gradients of hawkesll: of lda, and of alpha and beta before they are summed over the batch.",
               .inputs = backward_names,
               .outputs = 3,
               .infer =
                   [](Infer& i, const NoAttrs&) {
                     check_inputs(i, 1);
                     expect_shape(i, 0, Shape{i.shape(1 + kLags)[0]});
                     for (int k = 0; k < 3; ++k) i.output(i.shape(1 + kLda), i.dtype(1 + kLda));
                   },
               .kernel = likelihood_gradient,
               .unsampled = "tested as the gradient of hawkesll"})};
}

}  // namespace headrace
