// Random numbers on the plug-in's GPUs, beside the host's of the same seed.
#include <gtest/gtest.h>

#include "headrace/random.hpp"
#include "op/thread_state.h"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

// Each device draws anew.
void expect_same_draws(const std::vector<NDArray>& inputs,
                       const std::function<NDArray(const std::vector<NDArray>&, Device)>& draw) {
  std::vector<NDArray> moved;
  for (const NDArray& input : inputs) moved.push_back(as_in_context(input, kGpu0));
  random::seed(11);
  const NDArray here = draw(inputs, {});
  const int64_t before = count_of_detours();
  random::seed(11);
  const NDArray there = draw(moved, kGpu0);
  EXPECT_EQ(there.device(), kGpu0);
  const NDArray back = as_in_context(there, {});
  back.wait_to_read();
  EXPECT_EQ(count_of_detours(), before);
  expect_close(back, here);
}

// By both generators.
class CudaDrawsSlow : public ::testing::TestWithParam<random::Generator> {
 protected:
  void SetUp() override { random::set_generator(GetParam()); }
  void TearDown() override { random::set_generator(random::Generator::kPhilox); }
};

INSTANTIATE_TEST_SUITE_P(Generators, CudaDrawsSlow,
                         ::testing::Values(random::Generator::kPhilox, random::Generator::kMt19937));

NDArray place(const char* name, Device device, std::initializer_list<NamedAttr> given) {
  const OpDef& op = find_op(name);
  const IntrusivePtr<Attrs> attrs = op.make_attrs();
  const auto set = [&](const char* field, const AttrValue& value) {
    op.schema->find(field)->set(attrs->mutable_data(), value, *op.schema->find(field), name);
  };
  for (const NamedAttr& one : given) set(one.name, one.value);
  set("ctx", std::string(to_string(device)));
  return invoke_all(op, AttrsPtr(attrs.get()), {})[0];
}

TEST_P(CudaDrawsSlow, IntegersOfEveryDType) {
  for (const DType dtype : kAllDTypes) {
    if (is_floating(dtype) || dtype == DType::kBool) continue;
    expect_same_draws({}, [dtype](const std::vector<NDArray>&, Device device) {
      return place("_random_randint", device,
                   {{"low", int64_t{is_signed(dtype) ? -3 : 3}},
                    {"high", int64_t{120}},
                    {"shape", Shape{700}},
                    {"dtype", dtype}});
    });
  }
  expect_same_draws({}, [](const std::vector<NDArray>&, Device device) {
    return place("_random_randint", device,
                 {{"low", -(int64_t{1} << 62)},
                  {"high", (int64_t{1} << 62) + 5},
                  {"shape", Shape{3, 50}},
                  {"dtype", DType::kInt64}});
  });
}

TEST_P(CudaDrawsSlow, RowsInRandomOrder) {
  for (const Shape& shape : {Shape{1000}, Shape{300, 7}, Shape{1, 3}, Shape{0, 2}, Shape{4, 0}})
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool})
      expect_same_draws({varied(shape, dtype, 1)},
                        [](const std::vector<NDArray>& in, Device) { return call("_shuffle", {in[0]}); });
}

TEST_P(CudaDrawsSlow, ChoicesWithAndWithoutReplacement) {
  const NDArray weights = call("abs", {varied({300}, DType::kFloat32, 2)});
  for (const bool replace : {true, false})
    for (const int64_t count : {0, 1, 250}) {
      expect_same_draws({}, [&](const std::vector<NDArray>&, Device device) {
        return place("_npi_choice", device, {{"a", int64_t{300}}, {"size", Shape{count}}, {"replace", replace}});
      });
      for (const DType dtype : {DType::kFloat32, DType::kFloat64})
        expect_same_draws({cast_to(weights, dtype)}, [&](const std::vector<NDArray>& in, Device) {
          return call("_npi_choice", {in[0]}, {{"a", int64_t{300}}, {"size", Shape{count}}, {"replace", replace}});
        });
    }
}

TEST_P(CudaDrawsSlow, Categories) {
  const NDArray weights = call("abs", {varied({40, 90}, DType::kFloat32, 3)});
  for (const DType dtype : {DType::kInt32, DType::kFloat32, DType::kUint8})
    for (const DType of : kRealDTypes)
      for (const size_t which : {0, 1})
        expect_same_draws({cast_to(weights, of)}, [&](const std::vector<NDArray>& in, Device) {
          const OpDef& op = find_op("_sample_multinomial");
          return invoke_all(op, attrs_of(op, {{"shape", Shape{13}}, {"get_prob", true}, {"dtype", dtype}}), in)[which];
        });
  for (const Shape& shape : {Shape{3}, Shape{500, 3}, Shape{2, 3000}, Shape{0, 3}})
    expect_same_draws({call("abs", {varied(shape, DType::kFloat32, 4)})}, [&](const std::vector<NDArray>& in, Device) {
      return call("_sample_multinomial", {in[0]}, {{"shape", Shape{7}}});
    });
}

TEST_P(CudaDrawsSlow, CountsOfCategories) {
  const NDArray p = array({0.1F, 0.2F, 0.3F, 0.05F, 0.15F});  // less than 1 together
  for (const int64_t n : {0, 1, 1001})
    for (const Shape& size : {Shape{}, Shape{3, 2}, Shape{0}})
      expect_same_draws({p}, [&](const std::vector<NDArray>& in, Device) {
        return call("_npi_multinomial", {in[0]}, {{"n", n}, {"size", size}});
      });
}

struct Named {
  const char* name;
  Doubles parameters;
};

const Named kAllDistributions[] = {{"uniform", {-1, 2}},
                                   {"normal", {1, 3}},
                                   {"exponential", {0.7}},
                                   {"gamma", {0.4, 2}},
                                   {"gamma", {3.5, 0.5}},
                                   {"beta", {0.6, 2.5}},
                                   {"chisquare", {3}},
                                   {"poisson", {4}},
                                   {"poisson", {90}},
                                   {"negative_binomial", {3, 0.4}},
                                   {"generalized_negative_binomial", {2, 0.5}},
                                   {"bernoulli", {0.3}},
                                   {"gumbel", {1, 2}},
                                   {"laplace", {1, 2}},
                                   {"logistic", {1, 2}},
                                   {"pareto", {3}},
                                   {"power", {2.5}},
                                   {"rayleigh", {1.5}},
                                   {"weibull", {1.3}}};

TEST_P(CudaDrawsSlow, EveryDistributionByNumbers) {
  for (const auto& [name, parameters] : kAllDistributions)
    for (const bool as_np : {false, true})
      expect_same_draws({}, [&](const std::vector<NDArray>&, Device device) {
        return place("_draw", device,
                     {{"distribution", std::string(name)},
                      {"parameters", parameters},
                      {"shape", Shape{33, 20}},
                      {"sequential", as_np}});
      });
}

TEST_P(CudaDrawsSlow, EveryDistributionByArrays) {
  for (const auto& [name, parameters] : kAllDistributions) {
    std::vector<NDArray> arrays;
    for (const double number : parameters) {
      const auto value = static_cast<float>(number);
      arrays.push_back(array({value, value * 0.9F, value * 1.1F}));
    }
    for (const DType dtype : kRealDTypes) {
      std::vector<NDArray> inputs;
      for (const NDArray& one : arrays) inputs.push_back(cast_to(one, dtype));
      expect_same_draws(inputs, [&](const std::vector<NDArray>& in, Device) {
        const OpDef& op = find_op("_draw");
        const NDArray drawn = invoke_all(
            op, attrs_of(op, {{"distribution", std::string(name)}, {"shape", Shape{41}}, {"dtype", dtype}}), in)[0];
        // Normal variates are made in float32.
        return dtype == DType::kFloat64 ? cast_to(drawn, DType::kFloat32) : drawn;
      });
    }
  }
}

TEST_P(CudaDrawsSlow, PoissonVariatesOfIntegers) {
  for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kUint8, DType::kBool})
    expect_same_draws({}, [&](const std::vector<NDArray>&, Device device) {
      return place("_draw", device,
                   {{"distribution", std::string("poisson")},
                    {"parameters", Doubles{3.5}},
                    {"shape", Shape{500}},
                    {"dtype", dtype}});
    });
}

TEST_P(CudaDrawsSlow, CandidatesOfClasses) {
  for (const Shape& shape : {Shape{30, 9}, Shape{3, 0}, Shape{0, 4}})
    for (const size_t which : {0, 1})
      expect_same_draws({}, [&](const std::vector<NDArray>&, Device device) {
        const OpDef& op = find_op("_sample_unique_zipfian");
        thread_state().device = device;
        const NDArray drawn = invoke_all(op, attrs_of(op, {{"range_max", int64_t{50}}, {"shape", shape}}), {})[which];
        thread_state().device = {};
        return drawn;
      });
}

TEST_P(CudaDrawsSlow, ImagesThatAreFlippedAtRandom) {
  for (const DType dtype : {DType::kFloat32, DType::kUint8})
    for (const Shape& shape : {Shape{31, 17, 3}, Shape{2, 5, 7, 1}, Shape{0, 4, 4, 3}})
      for (const char* op : {"_image_random_flip_left_right", "_image_random_flip_top_bottom"})
        for (const double p : {0.0, 0.5, 1.0})
          expect_same_draws({cast_to(varied(shape, DType::kInt32, 9), dtype)},
                            [&](const std::vector<NDArray>& in, Device) {
                              return call(op, {in[0]}, {{"p", p}});
                            });
}

TEST_P(CudaDrawsSlow, WrongNumbersRaise) {
  const auto error_of = [](const NDArray& drawn) { return kind_of([&] { as_in_context(drawn, {}).wait_to_read(); }); };
  const NDArray wrong = as_in_context(array({0.5F, -0.25F, 0.75F}), kGpu0);
  const NDArray none = as_in_context(array({0, 0, 0}), kGpu0), one = as_in_context(array({0, 1, 0}), kGpu0);
  EXPECT_EQ(error_of(call("_sample_multinomial", {wrong})), ErrorKind::kValue);
  EXPECT_EQ(error_of(call("_npi_multinomial", {wrong}, {{"n", int64_t{3}}})), ErrorKind::kValue);
  EXPECT_EQ(error_of(call("_npi_multinomial", {as_in_context(array({0.7F, 0.7F}), kGpu0)}, {{"n", int64_t{3}}})),
            ErrorKind::kValue);
  const auto choose = [](const NDArray& weights, bool replace) {
    return call("_npi_choice", {weights}, {{"a", int64_t{3}}, {"size", Shape{2}}, {"replace", replace}});
  };
  EXPECT_EQ(error_of(choose(wrong, true)), ErrorKind::kValue);
  EXPECT_EQ(error_of(choose(none, true)), ErrorKind::kValue);
  EXPECT_EQ(error_of(choose(one, false)), ErrorKind::kValue);
  EXPECT_EQ(error_of(call("_draw", {wrong}, {{"distribution", std::string("poisson")}})), ErrorKind::kValue);
}

TEST(CudaDrawGradientsSlow, OfLogLikelihoods) {
  const NDArray p = call("abs", {varied({6, 5}, DType::kFloat32, 5)});
  const NDArray drawn = call("abs", {varied({6, 40}, DType::kInt32, 6)});
  for (const DType dtype : kRealDTypes)
    expect_as_on_host({varied({6, 40}, dtype, 7), cast_to(call("_plus_scalar", {p}, {{"scalar", 0.1}}), dtype), drawn},
                      [](const std::vector<NDArray>& in) {
                        return call("_sample_multinomial_back", {in[0], in[1], in[2]});
                      });
  const NDArray outside = as_in_context(varied({6, 40}, DType::kInt32, 8), kGpu0);  // from -3 on
  const NDArray back = call("_sample_multinomial_back", {as_in_context(varied({6, 40}, DType::kFloat32, 7), kGpu0),
                                                         as_in_context(p, kGpu0), outside});
  EXPECT_EQ(kind_of([&] { as_in_context(back, {}).wait_to_read(); }), ErrorKind::kIndex);
}

}  // namespace
}  // namespace headrace
