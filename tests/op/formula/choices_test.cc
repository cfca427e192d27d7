// Choices that parameters decide.
#include "op/formula/choices.h"

#include <gtest/gtest.h>

#include "op/formula/program.h"

namespace headrace {
namespace {

// clip(x * b, a) where a >= 0, with a second choice inside.
Formula clipping() {
  const Expr x = input(0), a = parameter(0), b = parameter(1);
  const Expr scaled = select(b > 1, x * b, x);
  return {1, 2, {select(a >= 0, min(max(scaled, -a), a), scaled), select(x > 0, x, a)}};
}

TEST(Choices, ConditionsThatReadNoInput) {
  const std::vector<Expr> conditions = conditions_on_parameters(clipping());
  ASSERT_EQ(conditions.size(), 2u);
  const double both[] = {1, 2}, none[] = {-1, 0};
  EXPECT_EQ(decide(conditions, both), 3u);
  EXPECT_EQ(decide(conditions, none), 0u);
}

TEST(Choices, WhatIsNotChosenIsNotComputed) {
  const Formula formula = clipping();
  const std::vector<Expr> conditions = conditions_on_parameters(formula);
  const double scaled_alone[] = {-1, 2};
  const Formula decided = with_decisions(formula, conditions, decide(conditions, scaled_alone));
  EXPECT_EQ(decided.num_parameters, 2);
  ASSERT_EQ(decided.outputs[0].kind(), Expr::Kind::kInstruction);
  EXPECT_EQ(decided.outputs[0].opcode(), Opcode::kMul);
  EXPECT_EQ(decided.outputs[1].opcode(), Opcode::kSelect);  // depends on the element
  const auto length = [](const Formula& one) { return Program(one, ComputeType::kFloat32).instructions().size(); };
  EXPECT_LT(length(decided), length(formula));
}

TEST(Choices, OneConditionUsedTwiceIsOne) {
  const Expr x = input(0), holds = parameter(0) > 0;
  EXPECT_EQ(conditions_on_parameters({1, 1, {select(holds, x, x + 1), select(holds, x * 2, x)}}).size(), 1u);
}

TEST(Choices, NoMoreThanProgramsAreKeptFor) {
  const Expr x = input(0);
  Formula formula{1, 5, {}};
  for (int k = 0; k < 5; ++k) formula.outputs.push_back(select(parameter(k) > 0, x, x + 1));
  EXPECT_EQ(conditions_on_parameters(formula).size(), kMostChoices);
}

}  // namespace
}  // namespace headrace
