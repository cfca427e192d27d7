// Operators of MXNet's generator, beside samplers of single values that are fed by the standard library's words in the
// order that MXNet takes them.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "headrace/random.hpp"
#include "op/invoke.h"
#include "ops/random/mxnet_samplers.h"

namespace headrace {
namespace {

constexpr int64_t kSampleCounts[] = {0, 1, 2, 3, 63, 64, 65, 130, 623, 624, 625, 5000, 65'536, 70'001};
constexpr uint32_t kSeed = 7;

// MXNet's states, made as std::mt19937 makes them.
class Reference {
 public:
  using Sampler = std::function<double(std::mt19937&)>;

  std::vector<double> parallel(int64_t n, const Sampler& sampler) {
    const int64_t count = std::min<int64_t>(1024, (n + 63) / 64), run = count == 0 ? 0 : (n + count - 1) / count;
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(sampler(state(static_cast<size_t>(i / run))));
    return values;
  }
  std::vector<double> sequential(int64_t n, const Sampler& sampler) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(sampler(one));
    return values;
  }

  std::mt19937 one{kSeed * 127};

 private:
  std::mt19937& state(size_t i) {
    while (states_.size() <= i) states_.emplace_back(static_cast<uint32_t>(kSeed * 127 + states_.size()));
    return states_[i];
  }
  std::vector<std::mt19937> states_;
};

std::vector<double> doubles(const NDArray& array) { return cast_to(array, DType::kFloat64).to_vector<double>(); }

template <class Real>
DType dtype_of() {
  return std::is_same_v<Real, float> ? DType::kFloat32 : DType::kFloat64;
}

class Mt19937Streams : public testing::Test {
 protected:
  void SetUp() override {
    random::set_generator("mt19937");
    random::seed(kSeed);
  }
  void TearDown() override {
    random::set_generator("philox");
    random::seed(0);
  }

  // Draws of all lengths, one after another.
  void expect_equal(const std::function<NDArray(int64_t)>& drawn,
                    const std::function<std::vector<double>(int64_t)>& expected) {
    for (const int64_t n : kSampleCounts) ASSERT_EQ(doubles(drawn(n)), expected(n)) << n;
  }

  template <class Real>
  void expect_distribution(const char* name, bool sequential, const Doubles& parameters) {
    SCOPED_TRACE(name);
    random::seed(kSeed);
    Reference reference;
    const Distribution kind = distribution_named(name).kind;
    const auto one = [&](std::mt19937& words) -> double {
      return static_cast<Real>(sequential ? samplers::mxnet::draw_sequential(kind, words, parameters.data())
                                          : samplers::mxnet::draw_parallel<Real>(kind, words, parameters.data()));
    };
    expect_equal(
        [&](int64_t n) {
          return call("_draw", {},
                      {{"distribution", std::string(name)},
                       {"parameters", parameters},
                       {"shape", Shape{n}},
                       {"dtype", dtype_of<Real>()},
                       {"sequential", sequential}});
        },
        [&](int64_t n) {
          if (!sequential) return reference.parallel(n, one);
          const std::vector<double> values = reference.sequential(n, one);
          if (kind == Distribution::kPower && n > 0) reference.one.discard(1);
          return values;
        });
  }
};

TEST_F(Mt19937Streams, UniformsOfNd) {
  Reference reference;
  expect_equal(
      [](int64_t n) {
        return call("_random_uniform", {}, {{"low", -1.0}, {"high", 2.5}, {"shape", Shape{n}}});
      },
      [&](int64_t n) {
        return reference.parallel(n, [](auto& words) { return -1 + 3.5f * uniform01<float>(words); });
      });
}

TEST_F(Mt19937Streams, UniformsOfNdInDouble) {
  Reference reference;
  expect_equal(
      [](int64_t n) {
        return call("_random_uniform", {}, {{"shape", Shape{n}}, {"dtype", DType::kFloat64}});
      },
      [&](int64_t n) { return reference.parallel(n, [](auto& words) { return uniform01<double>(words); }); });
}

TEST_F(Mt19937Streams, NormalsOfNd) {
  Reference reference;
  expect_equal(
      [](int64_t n) {
        return call("_random_normal", {}, {{"loc", 0.5}, {"scale", 3.0}, {"shape", Shape{n}}});
      },
      [&](int64_t n) {
        return reference.parallel(n, [](auto& words) { return 0.5f + 3.0f * normal01<float>(words); });
      });
}

TEST_F(Mt19937Streams, NormalsOfNdInDouble) {
  Reference reference;
  expect_equal(
      [](int64_t n) {
        return call("_random_normal", {}, {{"shape", Shape{n}}, {"dtype", DType::kFloat64}});
      },
      [&](int64_t n) { return reference.parallel(n, [](auto& words) { return normal01<double>(words); }); });
}

TEST_F(Mt19937Streams, UniformsAndNormalsOfNpShareOneStream) {
  Reference reference;
  std::vector<int64_t> counts(std::begin(kSampleCounts), std::end(kSampleCounts));
  counts.insert(counts.begin() + 3, 1'000'007);  // worth several threads
  for (const int64_t n : counts) {
    const std::vector<double> uniforms = doubles(call("_np_uniform", {}, {{"size", Shape{n}}}));
    ASSERT_EQ(uniforms, reference.sequential(n, [](auto& words) { return uniform01<float>(words); })) << n;
    const std::vector<double> normals = doubles(call("_np_normal", {}, {{"size", Shape{n}}}));
    std::optional<float> second;
    const auto next = [&](std::mt19937& words) {
      if (second) return *std::exchange(second, std::nullopt);
      const auto pair = normal_pair<float>(words);
      second = pair.second;
      return pair.first;
    };
    ASSERT_EQ(normals, reference.sequential(n, next)) << n;
  }
}

TEST_F(Mt19937Streams, MasksOfDropout) {
  for (const double p : {0.3, 0.5, 1.0}) {
    random::seed(kSeed);
    Reference reference;
    expect_equal(
        [&](int64_t n) {
          return call("_dropout_mask", {full({n}, 1, DType::kFloat32, {})}, {{"p", p}});
        },
        [&](int64_t n) {
          return reference.parallel(n,
                                    [&](auto& words) { return uniform01<float>(words) < static_cast<float>(1 - p); });
        });
  }
}

TEST_F(Mt19937Streams, EveryOtherDistributionOfNd) {
  const auto both = [&](const char* name, const Doubles& parameters) {
    expect_distribution<float>(name, false, parameters);
    expect_distribution<double>(name, false, parameters);
  };
  both("exponential", {2.3});
  both("gamma", {2.3, 1.5});
  both("gamma", {0.4, 1.5});
  both("poisson", {3.5});
  both("poisson", {40.5});
  both("negative_binomial", {4, 0.3});
  both("generalized_negative_binomial", {25, 0.1});
}

TEST_F(Mt19937Streams, EveryOtherDistributionOfNp) {
  for (const char* name : {"exponential", "pareto", "power", "rayleigh", "weibull"})
    expect_distribution<float>(name, true, {2.3});
  for (const char* name : {"gumbel", "laplace", "logistic"}) expect_distribution<float>(name, true, {1.5, 2});
  expect_distribution<float>("poisson", true, {3.5});
  expect_distribution<float>("bernoulli", true, {0.3});
}

TEST_F(Mt19937Streams, ChoicesOfNp) {
  const auto expect_choices = [&](int64_t bound, const Reference::Sampler& sampler) {
    random::seed(kSeed);
    Reference reference;
    expect_equal(
        [&](int64_t n) {
          return call("_npi_choice", {}, {{"a", bound}, {"size", Shape{n}}});
        },
        [&](int64_t n) { return reference.sequential(n, sampler); });
  };
  expect_choices(50, [](std::mt19937& words) { return static_cast<double>(words() % 50); });
  expect_choices(int64_t{1} << 40, [](std::mt19937& words) {
    const uint64_t high = words(), low = words();
    return static_cast<double>(((high << 31) + low) % (uint64_t{1} << 40));
  });
}

TEST_F(Mt19937Streams, CategoriesOfNd) {
  const std::vector<double> weights = {0.125, 0.25, 0.5, 0.125};
  const NDArray p = NDArray::from<double>(weights, {4});
  const auto category = [&](double u) {
    double sum = 0;
    int64_t chosen = 0;
    while (chosen < 3 && u >= (sum += weights[static_cast<size_t>(chosen)])) ++chosen;
    return chosen;
  };
  Reference reference;
  expect_equal(
      [&](int64_t n) {
        return call("_sample_multinomial", {p}, {{"shape", Shape{n}}});
      },
      [&](int64_t n) {
        return reference.sequential(
            n, [&](auto& words) { return static_cast<double>(category(uniform01<float>(words))); });
      });
}

// All uniforms, then all normals, again while a sample is missing.
std::vector<double> gammas(std::mt19937& words, int64_t n, float shape, float scale) {
  const samplers::mxnet::GammaShape<double> of(shape);
  std::vector<double> samples(static_cast<size_t>(n), -1), uniforms(2 * samples.size());
  while (std::ranges::any_of(samples, [](double sample) { return sample < 0; })) {
    for (double& u : uniforms) u = uniform01<double>(words);
    for (size_t i = 0; i < samples.size(); ++i) {
      const double normal = normal_pair<double>(words).first, x = 1 + of.c * normal, v = x * x * x;
      if (!(samples[i] < 0) || !(v > 0)) continue;
      const double square = normal * normal, u = uniforms[2 * i];
      if (!(u <= 1 - 0.0331 * square * square) &&
          !(std::log(static_cast<float>(u)) < 0.5 * square + of.d * (1 - v + std::log(static_cast<float>(v)))))
        continue;
      const float boost = std::pow(static_cast<float>(uniforms[2 * i + 1]), static_cast<float>(1.0 / shape));
      samples[i] = of.d * v * scale * (shape < 1 ? boost : 1);
    }
  }
  for (double& sample : samples) sample = static_cast<float>(sample);
  return samples;
}

TEST_F(Mt19937Streams, GammasOfNp) {
  for (const double shape : {2.3, 0.4}) {
    random::seed(kSeed);
    Reference reference;
    expect_equal(
        [&](int64_t n) {
          return call("_draw", {},
                      {{"distribution", std::string("gamma")},
                       {"parameters", Doubles{shape, 1.5}},
                       {"shape", Shape{n}},
                       {"sequential", true}});
        },
        [&](int64_t n) { return gammas(reference.one, n, static_cast<float>(shape), 1.5f); });
  }
}

}  // namespace
}  // namespace headrace
