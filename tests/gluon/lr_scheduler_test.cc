// Learning rates by the number of updates, and trainers that follow them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <headrace/headrace.hpp>

#include "tests/gluon/line_learner.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::Pointwise;

template <class Scheduler>
std::vector<double> rates(const Scheduler& scheduler, const std::vector<int64_t>& updates) {
  std::vector<double> result;
  for (const int64_t update : updates) result.push_back(scheduler(update));
  return result;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  EXPECT_THAT(found, Pointwise(::testing::DoubleNear(1e-12), expected));
}

TEST(LrSchedulers, FallInSteps) {
  const lr_scheduler::FactorScheduler factor{.step = 10, .factor = 0.5, .stop_factor_lr = 0.2, .base_lr = 1};
  EXPECT_THAT(rates(factor, {0, 1, 10, 11, 20, 21, 31, 1000000}), ElementsAre(1, 1, 1, 0.5, 0.5, 0.25, 0.2, 0.2));
  const lr_scheduler::MultiFactorScheduler several{.step = {10, 15}, .factor = 0.5, .base_lr = 1};
  EXPECT_THAT(rates(several, {1, 10, 11, 15, 16, 100}), ElementsAre(1, 1, 0.5, 0.5, 0.25, 0.25));
}

TEST(LrSchedulers, FallAlongCurves) {
  const lr_scheduler::PolyScheduler line{.max_update = 10, .base_lr = 1, .pwr = 1};
  EXPECT_THAT(rates(line, {0, 5, 10, 11}), ElementsAre(1, 0.5, 0, 0));
  const lr_scheduler::PolyScheduler square{.max_update = 10, .base_lr = 1, .final_lr = 0.2};
  expect_near(rates(square, {0, 5, 10}), {1, 0.4, 0.2});
  const lr_scheduler::CosineScheduler cosine{.max_update = 10, .base_lr = 1};
  expect_near(rates(cosine, {0, 5, 10, 20}), {1.0, 0.5, 0.0, 0.0});
}

TEST(LrSchedulers, WarmUp) {
  const lr_scheduler::CosineScheduler rising{
      .max_update = 20, .base_lr = 1, .warmup_steps = 10, .warmup_begin_lr = 0.5};
  expect_near(rates(rising, {0, 4, 10, 15, 20}), {0.5, 0.7, 1.0, 0.5, 0.0});
  const lr_scheduler::MultiFactorScheduler constant{
      .step = {20}, .factor = 0.1, .base_lr = 1, .warmup_steps = 5, .warmup_begin_lr = 0.25, .warmup_mode = "constant"};
  EXPECT_THAT(rates(constant, {0, 4, 5, 21}), ElementsAre(0.25, 0.25, 1, 0.1));
}

TEST(LrSchedulers, RefuseWhatMakesNoSense) {
  using namespace lr_scheduler;
  EXPECT_EQ(kind_of([] { FactorScheduler{.step = 0}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { FactorScheduler{.step = 1, .factor = 2}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { MultiFactorScheduler{.step = {}}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { MultiFactorScheduler{.step = {5, 5}}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { PolyScheduler{.max_update = 0}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { CosineScheduler{.max_update = 1, .warmup_begin_lr = 1}(1); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { CosineScheduler{.max_update = 1, .warmup_mode = "slow"}(1); }), ErrorKind::kValue);
}

gluon::TrainerOptions halving() {
  return {.lr_scheduler = lr_scheduler::FactorScheduler{.step = 1, .factor = 0.5, .base_lr = 0.5}};
}

TEST(LrSchedulers, LeadATrainer) {
  LineLearner line("sgd", {}, halving());
  EXPECT_EQ(line.trainer.learning_rate(), 0.5);
  line.learn(1);
  EXPECT_EQ(line.weight(), 0.5);
  line.learn(1);
  EXPECT_EQ(line.trainer.learning_rate(), 0.25);
  EXPECT_EQ(line.weight(), 0.5 * 0.75);
  EXPECT_EQ(kind_of([&] { line.trainer.set_learning_rate(1); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] {
              gluon::Trainer(line.dense.collect_params(), "sgd", {{"learning_rate", 1}}, halving());
            }),
            ErrorKind::kValue);
}

TEST(LrSchedulers, GoOnWhereSavedStatesEnded) {
  const std::string path = own_path("scheduled.states");
  LineLearner first("sgd", {}, halving()), second("sgd", {}, halving());
  first.learn(2);
  first.trainer.save_states(path);
  second.trainer.load_states(path);
  EXPECT_EQ(second.trainer.learning_rate(), 0.25);
  second.learn(1);
  EXPECT_EQ(second.trainer.learning_rate(), 0.125);
  EXPECT_EQ(second.weight(), 0.875);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace headrace
