#include <gtest/gtest.h>

#include <random>

#include "headrace/random.hpp"
#include "op/invoke.h"

namespace headrace {
namespace {

class Mt19937 : public testing::Test {
 protected:
  void SetUp() override { random::set_generator("mt19937"); }
  void TearDown() override {
    random::set_generator("philox");
    random::seed(0);
  }
};

TEST_F(Mt19937, ParallelStatesFillRunsInTurn) {
  random::seed(7);
  std::vector<float> got = call("_random_uniform", {}, {{"shape", Shape{130}}}).to_vector<float>();
  // 130 samples: three states, 44 elements each.
  for (size_t state = 0; state < 3; ++state) {
    std::mt19937 words(static_cast<uint32_t>(7 * 127 + state));
    for (size_t i = state * 44; i < std::min<size_t>(130, (state + 1) * 44); ++i)
      ASSERT_EQ(got[i], static_cast<float>(words()) * 0x1p-32f) << i;
  }
}

TEST_F(Mt19937, SequentialStateIsApartAndGoesOn) {
  random::seed(7);
  std::mt19937 words(7 * 127);
  for (int round = 0; round < 2; ++round) {
    call("_random_uniform", {}, {{"shape", Shape{10}}});
    std::vector<float> got = call("_npi_uniform", {}, {{"size", Shape{100}}}).to_vector<float>();
    for (float value : got) ASSERT_EQ(value, static_cast<float>(words()) * 0x1p-32f);
  }
}

TEST(Philox, OneSeedOneSequence) {
  random::seed(3);
  std::vector<float> first = call("_random_normal", {}, {{"shape", Shape{1000}}}).to_vector<float>();
  std::vector<float> second = call("_random_normal", {}, {{"shape", Shape{1000}}}).to_vector<float>();
  random::seed(3);
  EXPECT_EQ(first, call("_random_normal", {}, {{"shape", Shape{1000}}}).to_vector<float>());
  EXPECT_NE(first, second);
  random::seed(0);
}

TEST(Random, NegativeScaleFailsWhenMxnetSaysSo) {
  NDArray later = call("_random_normal", {}, {{"scale", -1.0}, {"shape", Shape{2}}});
  EXPECT_THROW(later.wait_to_read(), Error);
  EXPECT_THROW(call("_npi_normal", {}, {{"scale", -1.0}, {"size", Shape{2}}}), Error);
}

}  // namespace
}  // namespace headrace
