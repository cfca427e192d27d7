#include "ops/random/mersenne_fill.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "every_target.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

constexpr int64_t kFillLengths[] = {0,   1,   2,   3,   5,    17,   64,   311,    312,
                                    313, 623, 624, 625, 2047, 2048, 2049, 10'000, 250'007};

// Values one by one, by the samplers of single values and the standard library's words.
template <class Real>
struct Serial {
  std::mt19937 words{7};

  void uniforms(std::vector<Real>& values, Real offset, Real factor) {
    for (Real& value : values) value = offset + factor * uniform01<Real>(words);
  }
  void first_normals(std::vector<Real>& values, Real offset, Real factor) {
    for (Real& value : values) value = offset + factor * normal_pair<Real>(words).first;
  }
  void normals(std::vector<Real>& values, Real offset, Real factor) {
    for (size_t i = 0; i < values.size(); i += 2) {
      const auto [first, second] = normal_pair<Real>(words);
      values[i] = offset + factor * first;
      if (i + 1 < values.size()) values[i + 1] = offset + factor * second;
    }
  }
};

template <class Turns>
void take_by_threads(Turns& turns, int threads) {
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back([&] { turns.take_all(); });
  turns.take_all();
}

template <class Real>
class MersenneFill : public testing::Test {
 protected:
  using Expected = void (Serial<Real>::*)(std::vector<Real>&, Real, Real);

  // Draws pieces of many lengths, one after another from one stream, by make(stream, values, offset, factor).
  template <class Make>
  void expect_equal(Expected expected, const Make& make) {
    for (const int threads : {1, 4}) {
      test::on_every_target([&] {
        Serial<Real> serial;
        MersenneTwister stream(7);
        for (const int64_t n : kFillLengths) {
          std::vector<Real> wanted(static_cast<size_t>(n)), values(static_cast<size_t>(n));
          (serial.*expected)(wanted, Real(-0.3), Real(1.7));
          auto turns = make(stream, values, Real(-0.3), Real(1.7));
          take_by_threads(turns, threads);
          ASSERT_EQ(values, wanted) << n << " by " << threads;
        }
        ASSERT_EQ(stream(), serial.words());
      });
    }
  }

  void expect_normals(Expected expected, typename NormalTurns<Real>::Use use) {
    expect_equal(expected, [use](MersenneTwister& stream, std::vector<Real>& values, Real offset, Real factor) {
      return NormalTurns<Real>(stream, use, values.data(), static_cast<int64_t>(values.size()), offset, factor);
    });
  }
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(MersenneFill, Reals);

TYPED_TEST(MersenneFill, UniformsAreThoseDrawnOneByOne) {
  using Real = TypeParam;
  this->expect_equal(
      &Serial<Real>::uniforms, [](MersenneTwister& stream, std::vector<Real>& values, Real offset, Real factor) {
        return UniformTurns<Real>(stream, values.data(), static_cast<int64_t>(values.size()), offset, factor);
      });
}

TYPED_TEST(MersenneFill, PairsOfNormalsAreThoseDrawnOneByOne) {
  this->expect_normals(&Serial<TypeParam>::normals, NormalTurns<TypeParam>::Use::kBothOfPair);
}

TYPED_TEST(MersenneFill, FirstNormalsOfPairsAreThoseDrawnOneByOne) {
  this->expect_normals(&Serial<TypeParam>::first_normals, NormalTurns<TypeParam>::Use::kFirstOfPair);
}

TEST(MersenneKernels, UniformsOfExtremeWordsAreBelowOne) {
  test::on_every_target([] {
    const std::vector<uint32_t> words = {0xffffffff, 0xffffffff, 0,          0,          1,          0,
                                         0,          1,          0x7fffffff, 0xffffff7f, 0xffffff80, 0xffffffff,
                                         0,          0xffffffff, 0x80000000, 0xfffffc00};
    std::vector<float> floats(words.size());
    uniforms_of_words(words.data(), 16, 0.0f, 1.0f, floats.data());
    std::vector<double> doubles(words.size() / 2);
    uniforms_of_words(words.data(), 8, 0.0, 1.0, doubles.data());
    size_t place = 0;
    const auto stream = [&] { return words[place++]; };
    for (const float value : floats) EXPECT_EQ(value, uniform01<float>(stream)) << place;
    place = 0;
    for (const double value : doubles) EXPECT_EQ(value, uniform01<double>(stream)) << place;
    EXPECT_LT(floats[0], 1);
    EXPECT_LT(doubles[0], 1);
  });
}

// The origin, the corners and the circle itself: what the polar method refuses, and the last that it accepts.
TEST(MersenneKernels, PointsOnTheEdgeAreThoseOfSingleDraws) {
  test::on_every_target([] {
    std::vector<uint32_t> words;
    const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0x80000080, 0xffffff7f, 0xffffffff};
    for (const uint32_t first : edges)
      for (const uint32_t second : edges) words.insert(words.end(), {first, second});
    PolarPoints<float> points;
    const int64_t found = points.accept(words.data(), 64);
    std::vector<float> values(static_cast<size_t>(2 * found));
    points.normals(true, 2 * found, 0.0f, 1.0f, values.data());
    size_t place = 0;
    const auto stream = [&] { return words.at(place++); };
    for (size_t i = 0; i < values.size(); i += 2) {
      const auto [first, second] = normal_pair<float>(stream);
      EXPECT_EQ(values[i], first);
      EXPECT_EQ(values[i + 1], second);
    }
    EXPECT_THROW(normal_pair<float>(stream), std::out_of_range);
  });
}

TEST(Trials, SucceedWhereAUniformIsBelowTheBound) {
  const float bounds[] = {-1, 0, 0x1p-149f, 0x1p-32f, 0x1p-31f, 0.3f, 0.5f, 0x1.fffffcp-1f, 0x1.fffffep-1f, 1, 2};
  test::on_every_target([&] {
    for (const float bound : bounds) {
      MersenneTwister stream(7);
      std::mt19937 words(7);
      const Trials trials(bound);
      for (const int64_t n : {0, 1, 15, 16, 17, 624, 5000}) {
        std::vector<uint8_t> successes(static_cast<size_t>(n));
        trials.draw(stream, n, successes.data());
        for (const uint8_t success : successes) ASSERT_EQ(success, uniform01<float>(words) < bound) << bound;
      }
    }
  });
}

TEST(Trials, OfEdgesAreExact) {
  for (const uint32_t word : {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xffffff7fu, 0xffffff80u, 0xffffffffu}) {
    const auto stream = [word] { return word; };
    const auto u = uniform01<float>(stream);
    for (const float bound : {u, std::nextafter(u, 0.0f), std::nextafter(u, 1.0f)})
      EXPECT_EQ(Trials(bound).succeeds(word), u < bound) << word;
  }
}

}  // namespace
}  // namespace headrace
