// Loops and branches as files may have them: with bodies that do not fit.
#include "graph/control_flow.h"

#include <gtest/gtest.h>

#include "graph/cached_op.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Texts = Symbol::Texts;

Symbol input(const std::string& name) { return Symbol::variable(name); }
Symbol doubled() {
  const Symbol x = input("x");
  return Symbol::apply("broadcast_add", "twice", {x, x});
}
Symbol twice() {
  const Symbol one = doubled();
  return Symbol::group({one, one});
}
Symbol positive() { return Symbol::apply("_greater_scalar", "positive", {input("x")}, {{"scalar", "0"}}); }
Symbol below_ten() { return Symbol::apply("_lesser_scalar", "small", {input("x")}, {{"scalar", "10"}}); }

const Texts kBranch{
    {"num_outputs", "1"}, {"cond_input_locs", "(0,)"}, {"then_input_locs", "(0,)"}, {"else_input_locs", "(0,)"}};
const Texts kLoop{{"num_outputs", "2"},        {"num_out_data", "1"},       {"max_iterations", "6"},
                  {"cond_input_locs", "(0,)"}, {"func_input_locs", "(0,)"}, {"func_var_locs", "(0,)"}};
const Texts kRows{{"num_outputs", "2"},
                  {"num_out_data", "1"},
                  {"in_data_locs", "(0,)"},
                  {"in_state_locs", "(1,)"},
                  {"remain_locs", "()"}};

Texts with(Texts texts, const std::string& key, const std::string& value) {
  texts[key] = value;
  return texts;
}

// What is wrong with the node, which runs eagerly on arrays [1.5] and, for a loop over rows, another one.
std::string node_refusal(const std::string& op, const Texts& attrs, const std::vector<Symbol>& bodies) {
  std::vector<Symbol> inputs{input("x")};
  std::vector<NDArray> arrays{array({1.5f}, {1})};
  if (op == "_foreach") {
    inputs.push_back(input("state"));
    arrays.push_back(array({0}, {}));
  }
  try {
    const Symbol node = control_flow_node(op, "node", inputs, attrs, {}, bodies);
    for (const NDArray& result : CachedOp(node, {.compile = false})(arrays)) result.wait_to_read();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ControlFlow, BodiesThatFitRun) {
  const Symbol sum = Symbol::apply("broadcast_add", "sum", {input("row"), input("state")});
  EXPECT_EQ(node_refusal("_cond", kBranch, {positive(), doubled(), doubled()}), "");
  EXPECT_EQ(node_refusal("_while_loop", kLoop, {below_ten(), twice()}), "");
  EXPECT_EQ(node_refusal("_foreach", kRows, {Symbol::group({sum, sum})}), "");
}

TEST(ControlFlow, BodiesThatDoNotFitAreRefused) {
  EXPECT_EQ(node_refusal("_cond", kBranch, {positive()}), "node: 3 bodies are needed, got 1");
  EXPECT_EQ(node_refusal("_cond", with(kBranch, "then_input_locs", "()"), {positive(), doubled(), doubled()}),
            "node: a body has 1 inputs, not 0");
  EXPECT_EQ(node_refusal("_cond", with(kBranch, "cond_input_locs", "(7,)"), {positive(), doubled(), doubled()}),
            "node: location 7 lies outside the 1 inputs");
  EXPECT_EQ(node_refusal("_while_loop", with(kLoop, "num_out_data", "-1"), {below_ten(), doubled()}),
            "node: a body gives 1 outputs, not 2");
  EXPECT_EQ(node_refusal("_while_loop", with(kLoop, "num_out_data", "-1"), {below_ten(), twice()}),
            "node: -1 stacked outputs and 1 states are not its 2 outputs");
  EXPECT_EQ(node_refusal("_while_loop", with(kLoop, "max_iterations", "-1"), {below_ten(), twice()}),
            "node: max_iterations must be at least 0, got -1");
  EXPECT_EQ(node_refusal("_while_loop", kLoop, {twice(), twice()}), "node: a body gives 2 outputs, not 1");
  const Symbol sum = Symbol::apply("broadcast_add", "sum", {input("row"), input("state")});
  EXPECT_EQ(node_refusal("_foreach", with(kRows, "in_state_locs", "(0,)"), {Symbol::group({sum, sum})}),
            "node: two inputs stand at location 0 of the body");
  EXPECT_EQ(
      node_refusal("_foreach", with(kRows, "num_out_data", "9223372036854775807"), {Symbol::group({sum, sum})}).empty(),
      false);
}

TEST(ControlFlow, RowsOfStepsThatDidNotRunAreZero) {
  const Symbol loop = control_flow_node("_while_loop", "loop", {input("x")}, kLoop, {}, {below_ten(), twice()});
  const std::vector<NDArray> results = CachedOp(loop)(std::vector{array({1}, {1})});
  EXPECT_EQ(results[0].shape(), (Shape{6, 1}));
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{2, 4, 8, 16, 0, 0}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{16}));
}

TEST(ControlFlow, MoreStepsThanMemoryAreAnError) {
  EXPECT_NE(node_refusal("_while_loop", with(kLoop, "max_iterations", "4611686018427387904"), {below_ten(), twice()}),
            "");
}

}  // namespace
}  // namespace headrace
