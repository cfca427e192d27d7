// Operators that a program brings along, here one whose code is C++.
#include "ops/control/custom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/cached_op.h"
#include "graph/infer.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// The sum of both inputs times "by"; counts its runs in its state.
class Scaled final : public CustomProperty {
 public:
  explicit Scaled(double by) : CustomProperty({{"a", "b"}, {"sum"}, {"runs"}}), by_(by) {}

  std::vector<Shape> shapes(std::span<const Shape> inputs) const override {
    return {inputs[0], inputs[0], inputs[0], {1}};
  }
  std::vector<DType> dtypes(std::span<const DType> inputs) const override {
    return {inputs[0], inputs[0], inputs[0], DType::kFloat32};
  }
  std::vector<NDArray> run(std::span<const NDArray> arrays, std::span<const NDArray>) const override {
    copy_into(arrays[2], call("_plus_scalar", {arrays[2]}, {{"scalar", 1.0}}));
    return {call("_mul_scalar", {call("elemwise_add", {arrays[0], arrays[1]})}, {{"scalar", by_}})};
  }

 private:
  const double by_;
};

class Custom : public testing::Test {
 protected:
  void SetUp() override {
    set_custom_factory([](const std::string& op_type, const CustomTexts& texts) {
      if (op_type != "scaled") throw Error(ErrorKind::kKey, "no " + op_type);
      return std::make_shared<const Scaled>(std::stod(texts.at("by")));
    });
  }
  void TearDown() override { set_custom_factory({}); }

  const NDArray a_ = array({1, 2}), b_ = array({10, 20}), runs_ = array({0});
  const std::vector<NDArray> arrays_{a_, b_, runs_};
};

Symbol scaled_symbol(const std::string& by = "3") {
  return Symbol::apply("Custom", "mine", {Symbol::variable("x")}, {{"op_type", "scaled"}, {"by", by}});
}

TEST_F(Custom, RunsItsCode) {
  const AttrsPtr attrs = make_attrs(CustomAttrs{.op_type = "scaled", .texts = {{"by", "3"}}});
  const std::vector<NDArray> results = invoke_all(find_op("Custom"), attrs, arrays_);
  EXPECT_EQ(bytes_of(results.at(0)), bytes_of(array({33, 66})));
  EXPECT_EQ(bytes_of(runs_), bytes_of(array({1})));
}

TEST_F(Custom, HasItsNamesInSymbols) {
  const Symbol symbol = scaled_symbol();
  EXPECT_THAT(symbol.list_arguments(), ElementsAre("x", "mine_b"));
  EXPECT_THAT(symbol.list_auxiliary_states(), ElementsAre("mine_runs"));
  EXPECT_THAT(symbol.list_outputs(), ElementsAre("mine_sum"));
}

TEST_F(Custom, CompletesShapes) {
  KnownTypes known;
  known.shapes.emplace("x", Shape{4, 5});
  const InferredTypes types = infer_types(scaled_symbol(), known);
  EXPECT_EQ(types.outputs.at(0).shape, (Shape{4, 5}));
}

TEST_F(Custom, RunsInGraphs) {
  CachedOp graph(scaled_symbol("2"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bytes_of(graph(arrays_).at(0)), bytes_of(array({22, 44})));
  EXPECT_EQ(bytes_of(runs_), bytes_of(array({2})));
}

TEST_F(Custom, RefusesWrongCalls) {
  const OpDef& op = find_op("Custom");
  const auto attrs = [](const std::string& type) {
    return make_attrs(CustomAttrs{.op_type = type, .texts = {{"by", "3"}}});
  };
  EXPECT_EQ(kind_of([&] { invoke_all(op, attrs("other"), arrays_); }), ErrorKind::kKey);
  EXPECT_EQ(kind_of([&] { invoke_all(op, op.default_attrs, arrays_); }), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of([&] { invoke_all(op, attrs("scaled"), {{a_, b_}}); }), ErrorKind::kRuntime);
  const std::vector<NDArray> unequal{a_, array({1, 2, 3}), runs_};
  EXPECT_EQ(kind_of([&] { invoke_all(op, attrs("scaled"), unequal); }), ErrorKind::kRuntime);
}

}  // namespace
}  // namespace headrace
