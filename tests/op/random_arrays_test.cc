// Random programs over arrays, their views and updates in place: one that runs ahead leaves the bits of the same
// program in step, also while other threads run programs of their own.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/runtime.h"
#include "headrace/error.hpp"
#include "op/invoke.h"
#include "tests/support/sanitizers.h"

namespace headrace {
namespace {

constexpr uint64_t kSeeds = test::kIsSanitized ? 60 : 400;
constexpr int kSteps = 60;
constexpr size_t kArrays = 5;

using Outcome = std::pair<std::vector<float>, std::string>;  // values, or the text of the error

Outcome outcome_of(const NDArray& array) {
  try {
    return {array.to_vector<float>(), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

class Program {
 public:
  Program(uint64_t seed, bool in_step) : random_(seed), in_step_(in_step) {
    constexpr int64_t kSides[] = {3, 20, 150};
    side_ = kSides[below(3)];
    std::vector<float> values(static_cast<size_t>(side_ * side_));
    for (size_t i = 0; i < kArrays; ++i) {
      for (float& value : values) value = static_cast<float>(random_() % 1000) / 1000;
      arrays_.push_back(NDArray::from_host(values.data(), {side_, side_}, DType::kFloat32));
    }
  }

  std::vector<Outcome> run() {
    for (int i = 0; i < kSteps; ++i) {
      step();
      if (in_step_)
        for (const NDArray& array : arrays_) outcome_of(array);
    }
    std::vector<Outcome> outcomes;
    for (const NDArray& array : arrays_) outcomes.push_back(outcome_of(array));
    return outcomes;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  NDArray& any() { return arrays_[below(kArrays)]; }
  NDArray two(const char* name) {
    const NDArray x = any(), y = any();
    return call(name, {x, y});
  }
  NDArray transposed(const NDArray& x) {
    return view_of(x, {x.shape(), {x.strides()[1], x.strides()[0]}, x.view()->offset()});
  }
  NDArray rows(const NDArray& x, int64_t first, int64_t count) {
    return view_of(x, {{count, side_}, x.strides(), x.view()->offset() + first * x.strides()[0]});
  }

  void step() {
    switch (below(9)) {
      case 0:
        any() = call("tanh", {two("_npi_add")});
        break;
      case 1:
        any() = two("_npi_maximum");
        break;
      case 2:
        any() = transposed(any());
        break;
      case 3:
        update();
        break;
      case 4:
        copy_rows();
        break;
      case 5: {
        const NDArray x = any();
        any() = call("_npi_subtract", {x, call("_np_sum", {x}, {{"axis", Shape{1}}, {"keepdims", true}})});
        break;
      }
      case 6:
        if (side_ < 100) any() = call("tanh", {two("dot")});
        break;
      case 7:
        take();
        break;
      case 8:
        any() = call("_npi_multiply_scalar", {any()}, {{"scalar", 0.5}});
        break;
    }
  }

  void update() {
    static const OpDef& add = find_op("_npi_add");
    NDArray target = any();
    const std::array<NDArray, 2> inputs{target, any()};
    invoke(add, add.default_attrs, inputs, {&target, 1});
  }

  void copy_rows() {
    const int64_t count = static_cast<int64_t>(below(static_cast<size_t>(side_))) + 1;
    const auto place = [&] { return static_cast<int64_t>(below(static_cast<size_t>(side_ - count + 1))); };
    const NDArray from = call("_copy", {rows(any(), place(), count)});
    copy_into(rows(any(), place(), count), from);
  }

  void take() {
    std::vector<int32_t> index(static_cast<size_t>(side_));
    for (int32_t& i : index) i = static_cast<int32_t>(below(static_cast<size_t>(side_)));
    if (below(20) == 0) index.back() = static_cast<int32_t>(side_);  // out of range: found when it runs
    const NDArray positions = NDArray::from_host(index.data(), {side_}, DType::kInt32);
    any() = call("take", {any(), positions}, {{"axis", int64_t{0}}, {"mode", std::string("raise")}});
  }

  std::mt19937_64 random_;
  const bool in_step_;
  int64_t side_;
  std::vector<NDArray> arrays_;
};

void forget_errors() {
  while (true) {
    try {
      runtime().engine.wait_all();
      return;
    } catch (const Error&) {
    }
  }
}

TEST(RandomArrays, AheadEqualsInStep) {
  int failed = 0;
  for (uint64_t seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    const auto expected = Program(seed, true).run();
    EXPECT_EQ(Program(seed, false).run(), expected) << "seed " << seed;
    for (const Outcome& outcome : expected) failed += !outcome.second.empty();
  }
  EXPECT_GT(failed, 0);
  forget_errors();
}

TEST(RandomArrays, SeveralThreads) {
  constexpr uint64_t kThreads = 3;
  std::vector<std::vector<Outcome>> expected, got(kSeeds);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) expected.push_back(Program(seed, true).run());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t seed = t; seed < kSeeds; seed += kThreads) got[seed] = Program(seed, false).run();
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) EXPECT_EQ(got[seed], expected[seed]) << "seed " << seed;
  forget_errors();
}

}  // namespace
}  // namespace headrace
