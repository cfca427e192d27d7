// Sampling of any distribution, with numbers or arrays as parameters, and MXNet's legacy names for it.
#include "ops/random/draw.h"

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/formula/numeric_cast.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/random/draw_gradient.h"
#include "ops/random/mxnet_samplers.h"

namespace headrace {
namespace {

constexpr DistributionInfo kDistributions[] = {
    {Distribution::kUniform, "uniform", 2, ""},
    {Distribution::kNormal, "normal", 2, "scale must not be negative"},
    {Distribution::kExponential, "exponential", 1, "the rate must be positive"},
    {Distribution::kGamma, "gamma", 2, "shape and scale must not be negative"},
    {Distribution::kBeta, "beta", 2, "a and b must be positive"},
    {Distribution::kChisquare, "chisquare", 1, "df must be positive"},
    {Distribution::kPoisson, "poisson", 1, "the mean must not be negative"},
    {Distribution::kNegativeBinomial, "negative_binomial", 2, "k must not be negative and p in (0, 1]"},
    {Distribution::kGeneralizedNegativeBinomial, "generalized_negative_binomial", 2,
     "mu and alpha must not be negative"},
    {Distribution::kBernoulli, "bernoulli", 1, "the probability must be in [0, 1]"},
    {Distribution::kGumbel, "gumbel", 2, "scale must not be negative"},
    {Distribution::kLaplace, "laplace", 2, "scale must not be negative"},
    {Distribution::kLogistic, "logistic", 2, "scale must not be negative"},
    {Distribution::kPareto, "pareto", 1, "a must be positive"},
    {Distribution::kPower, "power", 1, "a must be positive"},
    {Distribution::kRayleigh, "rayleigh", 1, "scale must not be negative"},
    {Distribution::kWeibull, "weibull", 1, "a must be positive"},
};

struct DrawAttrs {
  std::string distribution = "uniform";
  Doubles parameters = {};
  Shape shape = {};
  DType dtype = DType::kFloat32;
  bool sequential = false;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&DrawAttrs::distribution, "distribution", "Its name.").required(),
             field(&DrawAttrs::parameters, "parameters", "Its parameters, when no arrays hold them."),
             field(&DrawAttrs::shape, "shape", "Samples for each set of parameters."),
             field(&DrawAttrs::dtype, "dtype", "Dtype of the samples."),
             field(&DrawAttrs::sequential, "sequential", "Whether np's stream of mt19937 is drawn from."),
             field(&DrawAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

Streams streams_of(bool as_np) { return as_np ? Streams::kSequential : Streams::kParallel; }

void infer_draw(Infer& i, const DrawAttrs& a) {
  const DistributionInfo& d = distribution_named(a.distribution);
  Shape shape = i.input_count() > 0 ? i.shape(0) : Shape{};
  if (i.input_count() == 0) {
    i.require(a.parameters.size() == d.parameters, ErrorKind::kValue, "{} takes {} parameters, got {}", d.name,
              d.parameters, a.parameters.size());
    // MXNet's nd functions report bad numbers when the result is waited for, its np functions at once.
    if (a.sequential) check_parameters(d, a.parameters.data(), true);
  } else {
    i.require(i.input_count() == d.parameters, ErrorKind::kValue, "{} takes {} arrays of parameters, got {}", d.name,
              d.parameters, i.input_count());
    for (size_t k = 1; k < i.input_count(); ++k)
      i.require(i.shape(k) == shape, ErrorKind::kValue, "the parameters have shapes {} and {}; they must be equal",
                to_string(shape), to_string(i.shape(k)));
  }
  expect_extents(i, a.shape);
  for (int64_t extent : a.shape) shape.push_back(extent);
  i.output(shape, a.dtype);
  if (a.ctx) i.device(parse_device(*a.ctx));
  i.cost(100 + static_cast<double>(element_count(shape)) * 30);
  generators().draw(i, streams_of(a.sequential));
}

// The parameters of all sets, as doubles, set after set.
std::vector<double> gather_parameters(const KernelContext& c) {
  size_t count = c.input_count(), sets = static_cast<size_t>(c.input(0).size);
  std::vector<double> values(sets * count);
  for (size_t k = 0; k < count; ++k)
    dispatch(c.input(k).dtype, [&]<class T>() {
      for (size_t i = 0; i < sets; ++i) values[i * count + k] = static_cast<double>(c.input(k).as<T>()[i]);
    });
  return values;
}

// One variate of the stream that a generator has: mt19937 gives MXNet's.
template <class Real, class Stream>
double variate(Distribution kind, Streams streams, Stream& stream, const double* p) {
  if constexpr (!kAsMxnet<Stream>)
    return samplers::draw(kind, stream, p);
  else if (streams == Streams::kSequential)
    return samplers::mxnet::draw_sequential(kind, stream, p);
  else
    return samplers::mxnet::draw_parallel<Real>(kind, stream, p);
}

// Whether MXNet computes nd's samples of this dtype in double: those of float16 but for the gamma distribution, too.
bool is_double(Distribution kind, DType dtype) {
  return dtype == DType::kFloat64 || (dtype == DType::kFloat16 && kind != Distribution::kGamma);
}

// How many words of mt19937 each of np's samples takes; 0: not all as many. Where it is not 0, a block of philox is
// enough.
int64_t even_words(Distribution kind) {
  switch (kind) {
    case Distribution::kNormal:
    case Distribution::kGamma:
    case Distribution::kBeta:
    case Distribution::kChisquare:
    case Distribution::kPoisson:
    case Distribution::kNegativeBinomial:
    case Distribution::kGeneralizedNegativeBinomial:
      return 0;
    case Distribution::kLaplace:
      return 2;
    default:
      return 1;
  }
}

void samples_on_host(KernelContext& c, const Draws& draws) {
  const DistributionInfo& d = draws.distribution;
  const Tensor& out = c.output(0);
  const std::vector<double> values =
      c.input_count() > 0 ? gather_parameters(c) : std::vector<double>(draws.numbers.begin(), draws.numbers.end());
  int64_t sets = static_cast<int64_t>(values.size() / d.parameters);
  if (out.size == 0 || sets == 0) return;
  for (int64_t i = 0; i < sets; ++i)
    check_parameters(d, values.data() + i * static_cast<int64_t>(d.parameters), draws.as_np);
  int64_t per_set = out.size / sets, parameters = static_cast<int64_t>(d.parameters);
  double* samples = out.dtype == DType::kFloat64 ? out.as<double>() : c.workspace<double>(out.size);
  const Streams streams = streams_of(draws.as_np);
  const auto of_sample = [&](int64_t i) { return values.data() + i / per_set * parameters; };
  if (d.kind == Distribution::kGamma && draws.as_np && c.ticket() == kMtTicket) {
    samplers::mxnet::fill_gamma(generators().states(streams).at(0), {samples, static_cast<size_t>(out.size)},
                                [&](size_t i) { return of_sample(static_cast<int64_t>(i)); });
  } else {
    const auto draw_one = [&](auto& stream, int64_t i) {
      samples[i] = is_double(d.kind, out.dtype) ? variate<double>(d.kind, streams, stream, of_sample(i))
                                                : variate<float>(d.kind, streams, stream, of_sample(i));
    };
    if (const int64_t words = even_words(d.kind); words > 0)
      for_each_sample<1>(c, streams, out.size, 10, draw_one, words);
    else
      for_each_sample<2>(c, streams, out.size, 30, draw_one);
    // MXNet draws one word more than there are samples.
    if (d.kind == Distribution::kPower && draws.as_np && c.ticket() == kMtTicket)
      generators().states(streams).at(0).discard(1);
  }
  if (out.dtype == DType::kFloat64) return;
  dispatch(out.dtype, [&]<class T>() {
    parallel_for(out.size, 4096, static_cast<double>(out.size) * 0.5, [&](int64_t begin, int64_t end) {
      std::transform(samples + begin, samples + end, out.as<T>() + begin, numeric_cast<T, double>);
    });
  });
}

// Of each distribution, with parameters that are valid for all.
std::vector<Sample> samples_of_all() {
  std::vector<Sample> samples;
  for (const DistributionInfo& d : kDistributions)
    samples.push_back(
        Sample({}, make_attrs(DrawAttrs{.distribution = std::string(d.name),
                                        .parameters = d.parameters == 1 ? Doubles{0.4} : Doubles{0.4, 0.7},
                                        .shape = {3, 4},
                                        .sequential = true})));
  samples.push_back(Sample({uniform({3}, 0.2, 1), uniform({3}, 0.2, 1)},
                           make_attrs(DrawAttrs{.distribution = "gamma", .shape = {4}})));
  return samples;
}

OpDef draw_operator() {
  return general<DrawAttrs>({
      .name = "_draw",
      .doc =
          R"(Samples of a distribution. Parameters are numbers, or arrays of one shape; then the result has that shape
followed by `shape`, with as many samples for each set of parameters. np's samples are differentiated by their
parameters, as in MXNet.)",
      .inputs = {"arrays"},
      .variadic = true,
      .infer = infer_draw,
      .kernel =
          [](KernelContext& c, const DrawAttrs& a) {
            draw_samples(c, {distribution_named(a.distribution), a.parameters, a.sequential});
          },
      .gradient =
          [](Gradient& g, const DrawAttrs& a) {
            if (a.sequential) gradient_of_draw(g, distribution_named(a.distribution).kind);
          },
      .saves_outputs = 1,
      .is_random = true,
      .samples = samples_of_all(),
  });
}

// --- legacy names ----------------------------------------------------------------------------------------------------

// Numbers as parameters: _random_gamma(alpha, beta, shape, dtype, ctx).
struct LamAttrs {
  double lam = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&LamAttrs::lam, "lam", "Rate of the exponential, mean of the Poisson distribution."),
             field(&LamAttrs::shape, "shape", "Shape of the result."),
             field(&LamAttrs::dtype, "dtype", "Dtype of the result; None: float32."),
             field(&LamAttrs::ctx, "ctx", "Device of the result; None: the current one."));
  Doubles numbers() const { return {lam}; }
};

struct GammaAttrs {
  double alpha = 1, beta = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&GammaAttrs::alpha, "alpha", "Shape of the distribution."),
             field(&GammaAttrs::beta, "beta", "Scale of the distribution."),
             field(&GammaAttrs::shape, "shape", "Shape of the result."),
             field(&GammaAttrs::dtype, "dtype", "Dtype of the result; None: float32."),
             field(&GammaAttrs::ctx, "ctx", "Device of the result; None: the current one."));
  Doubles numbers() const { return {alpha, beta}; }
};

struct NegativeBinomialAttrs {
  int64_t k = 1;
  double p = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NegativeBinomialAttrs::k, "k", "Number of failures that end the experiment."),
             field(&NegativeBinomialAttrs::p, "p", "Probability of failure."),
             field(&NegativeBinomialAttrs::shape, "shape", "Shape of the result."),
             field(&NegativeBinomialAttrs::dtype, "dtype", "Dtype of the result; None: float32."),
             field(&NegativeBinomialAttrs::ctx, "ctx", "Device of the result; None: the current one."));
  Doubles numbers() const { return {static_cast<double>(k), p}; }
};

struct GeneralizedAttrs {
  double mu = 1, alpha = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&GeneralizedAttrs::mu, "mu", "Mean."), field(&GeneralizedAttrs::alpha, "alpha", "Dispersion."),
             field(&GeneralizedAttrs::shape, "shape", "Shape of the result."),
             field(&GeneralizedAttrs::dtype, "dtype", "Dtype of the result; None: float32."),
             field(&GeneralizedAttrs::ctx, "ctx", "Device of the result; None: the current one."));
  Doubles numbers() const { return {mu, alpha}; }
};

template <class A>
OpDef by_numbers(const char* distribution, const char* doc, A sample) {
  sample.shape = {3, 4};
  std::string name = distribution;
  return general<A>({
      .name = "_random_" + name,
      .aliases = {"random_" + name},
      .python = {"nd.random_" + name},
      .doc = doc,
      .inputs = {},
      .compose = [distribution](std::span<const NDArray>, const A& a) -> std::vector<NDArray> {
        static const OpDef& op = find_op("_draw");
        return {call(
            op,
            make_attrs(DrawAttrs{distribution, a.numbers(), a.shape, a.dtype.value_or(DType::kFloat32), false, a.ctx}),
            {})};
      },
      .is_random = true,
      .samples = {Sample({}, make_attrs(std::move(sample)))},
  });
}

// Arrays as parameters: _sample_gamma(alpha, beta, shape, dtype).
struct SampleAttrs {
  Shape shape = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&SampleAttrs::shape, "shape", "Samples for each set of parameters."),
             field(&SampleAttrs::dtype, "dtype", "Dtype of the result; None: that of float parameters, or float32."));
};

OpDef by_arrays(const char* distribution, std::vector<std::string> parameters) {
  std::string name = distribution;
  std::vector<SampleArray> arrays(parameters.size(), uniform({3}, 0.2, 1));
  return general<SampleAttrs>({
      .name = "_sample_" + name,
      .aliases = {"sample_" + name},
      .python = {"nd.sample_" + name},
      .doc = R"(Samples for arrays of parameters.

The result has the shape of the parameters followed by `shape`. A parameter out of range is an MXNetError of the result.)",
      .inputs = std::move(parameters),
      .result_dtype = result_dtypes::floating,
      .compose = [distribution](std::span<const NDArray> in, const SampleAttrs& a) -> std::vector<NDArray> {
        static const OpDef& op = find_op("_draw");
        DType natural = is_floating(in[0].dtype()) ? in[0].dtype() : DType::kFloat32;
        return invoke_all(op, make_attrs(DrawAttrs{distribution, {}, a.shape, a.dtype.value_or(natural), false, {}}),
                          in);
      },
      .is_random = true,
      .samples = {Sample(std::move(arrays), make_attrs(SampleAttrs{.shape = {4}}))},
  });
}

}  // namespace

const DistributionInfo& distribution_named(std::string_view name) {
  for (const DistributionInfo& one : kDistributions)
    if (one.name == name) return one;
  fail(ErrorKind::kValue, "'{}' is no distribution", name);
}

void check_parameters(const DistributionInfo& d, const double* p, bool as_np) {
  if (has_parameters(d.kind, as_np, p)) [[likely]]
    return;
  if (as_np && d.kind == Distribution::kGamma)
    fail(ErrorKind::kValue, "random.gamma: shape and scale must be positive, got {} and {}", p[0], p[1]);
  if (d.parameters == 1) fail(ErrorKind::kValue, "random.{}: {}, got {}", d.name, d.condition, p[0]);
  fail(ErrorKind::kValue, "random.{}: {}, got {} and {}", d.name, d.condition, p[0], p[1]);
}

const decltype(draw_samples) draw_samples{"draw_samples", samples_on_host};

Operators draw_operators() {
  return {
      draw_operator(),
      by_numbers<LamAttrs>("exponential", "Samples of the exponential distribution with rate lam.", {.lam = 2}),
      by_numbers<LamAttrs>("poisson", "Samples of the Poisson distribution with mean lam.", {.lam = 3}),
      by_numbers<GammaAttrs>("gamma", "Samples of the gamma distribution with shape alpha and scale beta.",
                             {.alpha = 2, .beta = 0.5}),
      by_numbers<NegativeBinomialAttrs>("negative_binomial", "Samples of the negative binomial distribution.",
                                        {.k = 3, .p = 0.4}),
      by_numbers<GeneralizedAttrs>("generalized_negative_binomial",
                                   "Samples of the negative binomial distribution given by mean and dispersion.",
                                   {.mu = 2, .alpha = 0.5}),
      by_arrays("uniform", {"low", "high"}),
      by_arrays("normal", {"mu", "sigma"}),
      by_arrays("exponential", {"lam"}),
      by_arrays("gamma", {"alpha", "beta"}),
      by_arrays("poisson", {"lam"}),
      by_arrays("negative_binomial", {"k", "p"}),
      by_arrays("generalized_negative_binomial", {"mu", "alpha"}),
  };
}

}  // namespace headrace
