// nd random numbers in the shape of an array: _random_uniform_like and its siblings.

#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct UniformLikeAttrs {
  double low = 0, high = 1;
  static constexpr auto kFields = fields(field(&UniformLikeAttrs::low, "low", "Lower bound."),
                                         field(&UniformLikeAttrs::high, "high", "Upper bound."));
};

struct NormalLikeAttrs {
  double loc = 0, scale = 1;
  static constexpr auto kFields = fields(field(&NormalLikeAttrs::loc, "loc", "Mean."),
                                         field(&NormalLikeAttrs::scale, "scale", "Standard deviation."));
};

struct LamLikeAttrs {
  double lam = 1;
  static constexpr auto kFields =
      fields(field(&LamLikeAttrs::lam, "lam", "Rate of the exponential, mean of the Poisson distribution."));
};

struct GammaLikeAttrs {
  double alpha = 1, beta = 1;
  static constexpr auto kFields = fields(field(&GammaLikeAttrs::alpha, "alpha", "Shape of the distribution."),
                                         field(&GammaLikeAttrs::beta, "beta", "Scale of the distribution."));
};

struct NegativeBinomialLikeAttrs {
  int64_t k = 1;
  double p = 1;
  static constexpr auto kFields =
      fields(field(&NegativeBinomialLikeAttrs::k, "k", "Number of failures that end the experiment."),
             field(&NegativeBinomialLikeAttrs::p, "p", "Probability of failure."));
};

struct GeneralizedLikeAttrs {
  double mu = 1, alpha = 1;
  static constexpr auto kFields = fields(field(&GeneralizedLikeAttrs::mu, "mu", "Mean."),
                                         field(&GeneralizedLikeAttrs::alpha, "alpha", "Dispersion."));
};

// The attributes of `op`, which makes arrays by shape: those given, and the type of `data`.
AttrsPtr in_the_type_of(const OpDef& op, const NDArray& data, const AttrSchema& schema, const void* given) {
  IntrusivePtr<Attrs> made = op.make_attrs();
  const auto set = [&](const char* name, const AttrValue& value) {
    const FieldInfo& field = *op.schema->find(name);
    field.set(made->mutable_data(), value, field, op.name.c_str());
  };
  for (const FieldInfo& field : schema.fields) set(field.name, field.get(given));
  set("shape", data.shape());
  if (is_floating(data.dtype())) set("dtype", data.dtype());
  set("ctx", to_string(data.device()));
  return AttrsPtr(made.get());
}

template <class A>
OpDef like(const std::string& distribution, const char* what, A sample = {}) {
  const std::string by_shape = "_random_" + distribution;
  return general<A>({.name = by_shape + "_like",
                     .python = {"nd.random." + distribution + "_like"},
                     .doc = std::string("Samples of the ") + what +
                            " in the shape of `data`, and in its dtype if that is floating, else float32.",
                     .complete = keep_shape,
                     .result_dtype = result_dtypes::floating,
                     .compose = [by_shape](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
                       const OpDef& op = find_op(by_shape);
                       return {call(op, in_the_type_of(op, in[0], schema_of<A>(), &a), {})};
                     },
                     .zero_gradient = true,
                     .is_random = true,
                     .samples = {Sample({uniform({2, 3})}, make_attrs(sample)),
                                 Sample({integers({2, 3}, 0, 5)}, make_attrs(sample))}});
}

}  // namespace

Operators random_like_operators() {
  return {like<UniformLikeAttrs>("uniform", "uniform distribution on [low, high)"),
          like<NormalLikeAttrs>("normal", "normal distribution"),
          like<LamLikeAttrs>("exponential", "exponential distribution with rate lam"),
          like<LamLikeAttrs>("poisson", "Poisson distribution with mean lam"),
          like<GammaLikeAttrs>("gamma", "gamma distribution with shape alpha and scale beta"),
          like<NegativeBinomialLikeAttrs>("negative_binomial", "negative binomial distribution", {.k = 3, .p = 0.4}),
          like<GeneralizedLikeAttrs>("generalized_negative_binomial",
                                     "negative binomial distribution given by mean and dispersion")};
}

}  // namespace headrace
