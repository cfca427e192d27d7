// What headrace/autograd.hpp gives to programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "headrace/literal.hpp"

namespace headrace {
namespace {

using ::testing::ElementsAre;

NDArray asked_for(std::initializer_list<Literal> numbers) {
  NDArray x = nd::array(numbers);
  autograd::attach_grad(x);
  return x;
}

TEST(AutogradScopes, SetBothModesAndEndInReverseOrder) {
  using autograd::is_recording, autograd::is_training;
  {
    autograd::RecordScope record;
    EXPECT_TRUE(is_recording() && is_training());
    {
      autograd::PredictModeScope predict;
      EXPECT_TRUE(is_recording() && !is_training());
    }
    autograd::PauseScope pause;
    EXPECT_TRUE(!is_recording() && !is_training());
    autograd::TrainModeScope train;
    EXPECT_TRUE(!is_recording() && is_training());
  }
  EXPECT_TRUE(!is_recording() && !is_training());
}

TEST(AutogradHeads, MayBeSeveralWithGradientsOfTheirOwn) {
  const NDArray x = asked_for({1, 2});
  std::vector<NDArray> heads;
  {
    autograd::RecordScope scope;
    heads = {x * x, x * 3};
  }
  autograd::backward(heads, std::vector{nd::array({1, 10}), NDArray()}, true);
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(5, 43));
  autograd::backward(heads);
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(5, 7));
}

TEST(AutogradGrad, LeavesTheGradientsOfArraysAlone) {
  const NDArray x = asked_for({1, 2});
  std::vector<NDArray> heads, first;
  {
    autograd::RecordScope scope;
    heads = {x * x * x};
    first = autograd::grad(heads, std::vector{x}, {}, true, true);
  }
  EXPECT_THAT(first[0].to_vector<float>(), ElementsAre(3, 12));
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(0, 0));
  autograd::backward(first[0]);
  EXPECT_THAT(autograd::grad_of(x).to_vector<float>(), ElementsAre(6, 12));
}

}  // namespace
}  // namespace headrace
