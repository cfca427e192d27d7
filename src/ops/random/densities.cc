// Probability densities of samples, and their logarithms: random_pdf_*.

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;

struct DensityAttrs {
  bool is_log = false;
  static constexpr auto kFields =
      fields(field(&DensityAttrs::is_log, "is_log", "Whether to give the logarithm of the density."));
};

NDArray shaped(const NDArray& array, const Shape& shape) {
  return array.shape() == shape ? array : call("_reshape_to", {array}, {{"shape", shape}});
}

// The parameter with axes of extent 1 behind its first `kept` ones, for `more` axes of samples.
NDArray spread(const NDArray& parameter, size_t kept, size_t more) {
  Shape shape(parameter.shape().begin(), parameter.shape().begin() + static_cast<std::ptrdiff_t>(kept));
  for (size_t k = 0; k < more; ++k) shape.push_back(1);
  for (size_t k = kept; k < parameter.ndim(); ++k) shape.push_back(parameter.shape()[k]);
  return shaped(parameter, shape);
}

NDArray density(const NDArray& logarithm, const DensityAttrs& a) {
  return a.is_log ? logarithm : call("exp", {logarithm});
}

// A distribution of one number whose density has the logarithm `formula` of (sample, parameters ...): that as an
// operator, and the one for users.
Operators distribution(const std::string& name, const std::string& doc, std::vector<std::string> inputs,
                       FormulaFn formula, SampleArray sample, std::vector<SampleArray> parameters) {
  std::vector<SampleArray> all{std::move(sample)};
  for (SampleArray& one : parameters) all.push_back(std::move(one));
  std::vector<SampleArray> alike = all;
  for (size_t k = 1; k < alike.size(); ++k) alike[k].shape = {2, 1};
  const std::string logarithm = "_log_pdf_" + name;
  OpDef inner = pointwise({.op = {.name = logarithm,
                                  .doc = "The logarithm of random_pdf_" + name + " on arrays that broadcast.",
                                  .inputs = inputs,
                                  .samples = {Sample(std::move(alike))}},
                           .formula = std::move(formula)});
  const auto compose = [logarithm](Arrays in, const DensityAttrs& a) -> std::vector<NDArray> {
    const Shape& samples = in[0].shape();
    const size_t ndim = in[1].ndim();
    std::vector<NDArray> arrays{in[0]};
    for (const NDArray& one : in.subspan(1)) {
      check(one.ndim() == ndim && ndim <= samples.size() &&
                std::equal(one.shape().begin(), one.shape().end(), samples.begin()),
            ErrorKind::kRuntime,
            "random_pdf: parameters must have the shape of the first axes of sample {}, all the same; got {}",
            to_string(samples), to_string(one.shape()));
      arrays.push_back(spread(one, ndim, samples.size() - ndim));
    }
    return {density(invoke_all(find_op(logarithm), find_op(logarithm).default_attrs, arrays)[0], a)};
  };
  OpDef outer = general<DensityAttrs>(
      {.name = "_random_pdf_" + name,
       .aliases = {"random_pdf_" + name},
       .python = {"nd.random_pdf_" + name},
       .doc = "The probability density of each sample of " + doc +
              " Parameters have one shape, that of the first axes of sample. Raises MXNetError for other shapes.",
       .inputs = std::move(inputs),
       .compose = compose,
       .samples = {Sample(all), Sample(all, make_attrs(DensityAttrs{.is_log = true}))}});
  return {std::move(inner), std::move(outer)};
}

// Discrete samples have no gradient.
Expr negative_binomial(Expr samples, Expr k, Expr p) {
  Expr x = stop_gradient(samples);
  return lgamma(x + k) - lgamma(x + 1) - lgamma(k) + k * log(p) + x * log(1 - p);
}

NDArray sum_of_last(const NDArray& array) { return call("sum", {array}, {{"axis", Shape{-1}}, {"keepdims", true}}); }

// sample (..., k) and alpha (first axes of sample ..., k).
std::vector<NDArray> dirichlet(Arrays in, const DensityAttrs& a) {
  const Shape &samples = in[0].shape(), &shape = in[1].shape();
  check(!shape.empty() && shape.size() <= samples.size() && shape.back() == samples.back() &&
            std::equal(shape.begin(), shape.end() - 1, samples.begin()),
        ErrorKind::kRuntime, "random_pdf_dirichlet: alpha must have the first and the last axes of sample {}, got {}",
        to_string(samples), to_string(shape));
  const NDArray alpha = spread(in[1], shape.size() - 1, samples.size() - shape.size());
  const NDArray constant = call("gammaln", {sum_of_last(alpha)}) - sum_of_last(call("gammaln", {alpha}));
  const NDArray less = alpha - 1;
  const NDArray terms = sum_of_last(less * call("log", {in[0]}));
  Shape result(samples.begin(), samples.end() - 1);
  if (result.empty()) result.push_back(1);
  return {density(shaped(terms + constant, result), a)};
}

OpDef dirichlet_operator() {
  const std::vector<SampleArray> sample{uniform({2, 3, 4}, 0.1, 0.9), uniform({2, 4}, 0.5, 2)};
  return general<DensityAttrs>(
      {.name = "_random_pdf_dirichlet",
       .aliases = {"random_pdf_dirichlet"},
       .python = {"nd.random_pdf_dirichlet"},
       .doc = "The probability density of each sample, a vector along the last axis, of Dirichlet distributions with "
              "concentrations alpha along its last axis; the axes of alpha before are the first of sample. Raises "
              "MXNetError for other shapes.",
       .inputs = {"sample", "alpha"},
       .compose = dirichlet,
       .samples = {Sample(sample), Sample(sample, make_attrs(DensityAttrs{.is_log = true}))}});
}

}  // namespace

Operators density_operators() {
  const SampleArray counts = values({0, 1, 2, 3, 1, 5}), positive = uniform({2, 3}, 0.5, 2);
  SampleArray whole = counts;
  whole.shape = {2, 3};
  const SampleArray parameter = uniform({2}, 0.5, 2), chance = uniform({2}, 0.2, 0.8);
  Operators operators;
  operators.append(distribution("uniform", "uniform distributions from low to high, whether it lies there or not.",
                                {"sample", "low", "high"}, [](Expr, Expr low, Expr high) { return -log(high - low); },
                                positive, {chance, uniform({2}, 1, 2)}));
  operators.append(distribution("normal", "normal distributions with means mu and standard deviations sigma.",
                                {"sample", "mu", "sigma"},
                                [](Expr x, Expr mu, Expr sigma) {
                                  return -0.5 * square((x - mu) / sigma) - log(std::sqrt(2 * std::numbers::pi) * sigma);
                                },
                                positive, {parameter, parameter}));
  operators.append(distribution(
      "gamma", "gamma distributions with shapes alpha and rates beta.", {"sample", "alpha", "beta"},
      [](Expr x, Expr alpha, Expr beta) { return alpha * log(beta) + (alpha - 1) * log(x) - beta * x - lgamma(alpha); },
      positive, {parameter, parameter}));
  operators.append(distribution("exponential", "exponential distributions with rates lam.", {"sample", "lam"},
                                [](Expr x, Expr lam) { return log(lam) - lam * x; }, positive, {parameter}));
  operators.append(distribution("poisson", "Poisson distributions with rates lam.", {"sample", "lam"},
                                [](Expr samples, Expr lam) {
                                  Expr x = stop_gradient(samples);
                                  return x * log(lam) - lgamma(x + 1) - lam;
                                },
                                whole, {parameter}));
  operators.append(distribution(
      "negative_binomial", "negative binomial distributions: k failures, each of probability p.", {"sample", "k", "p"},
      [](Expr x, Expr k, Expr p) { return negative_binomial(x, k, p); }, whole, {parameter, chance}));
  operators.append(
      distribution("generalized_negative_binomial",
                   "negative binomial distributions with means mu and dispersions alpha.", {"sample", "mu", "alpha"},
                   [](Expr x, Expr mu, Expr alpha) { return negative_binomial(x, 1 / alpha, 1 / (mu * alpha + 1)); },
                   whole, {parameter, parameter}));
  operators.push_back(dirichlet_operator());
  return operators;
}

}  // namespace headrace
