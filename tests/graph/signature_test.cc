#include "graph/signature.h"

#include <gtest/gtest.h>

#include "graph/nodes.h"
#include "headrace/symbol.hpp"
#include "tests/graph/graphs.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using Names = std::vector<std::string>;

Symbol apply(const char* op, const std::vector<Symbol>& inputs, const Symbol::Texts& attrs = {}) {
  return Symbol::apply(op, "n", inputs, attrs);
}
const Node& node_of(const Symbol& symbol) { return *symbol.outputs()[0].node(); }

TEST(Signatures, OperatorsOfAnyNumberOfInputsAreToldHowMany) {
  EXPECT_EQ(apply("Concat", {var("x")}, {{"num_args", "3"}}).list_arguments(), (Names{"x", "n_arg1", "n_arg2"}));
  EXPECT_EQ(apply("Concat", {var("x"), var("y")}).list_arguments(), (Names{"x", "y"}));
  EXPECT_EQ(apply("multi_sum_sq", {}, {{"num_arrays", "2"}}).list_arguments(), (Names{"n_array_0", "n_array_1"}));
  const Symbol::Texts bilinear{{"scale", "2"}, {"sample_type", "bilinear"}, {"num_filter", "1"}};
  EXPECT_EQ(apply("UpSampling", {var("x")}, bilinear).list_arguments(), (Names{"x", "n_weight"}));
  for (const char* count : {"0", "-1", "1", "65537", "1099511627776"})
    EXPECT_EQ(kind_of([&] {
                apply("Concat", {var("x"), var("y")}, {{"num_args", count}});
              }),
              ErrorKind::kRuntime)
        << count;
  EXPECT_EQ(kind_of([] { apply("add_n", {}); }), ErrorKind::kRuntime);
}

TEST(Signatures, OutputsHaveNames) {
  const Symbol norm = apply("LayerNorm", {var("x")}, {{"output_mean_var", "True"}});
  EXPECT_EQ(norm.list_outputs(), (Names{"n_output", "n_mean", "n_std"}));
  EXPECT_EQ(apply("topk", {var("x")}, {{"ret_typ", "value"}}).list_outputs(), Names{"n_output0"});
  EXPECT_EQ(apply("topk", {var("x")}, {{"ret_typ", "both"}}).list_outputs(), (Names{"n_output0", "n_output1"}));
  EXPECT_EQ(counted_outputs(node_of(norm)), 3u);
  EXPECT_EQ(counted_outputs(node_of(apply("Pooling", {var("x")}, {{"kernel", "(2, 2)"}}))), 2u);
  EXPECT_EQ(counted_outputs(node_of(apply("Pooling", {var("x")}, {{"kernel", "(2, 2)"}, {"pool_type", "sum"}}))), 1u);
  EXPECT_EQ(counted_outputs(node_of(var("x"))), 1u);
}

TEST(Signatures, NumbersHaveBounds) {
  for (const char* p : {"0", "0.5", "1"}) EXPECT_NO_THROW(apply("Dropout", {var("x")}, {{"p", p}}));
  for (const char* p : {"-0.1", "1.1", "nan", "inf"})
    EXPECT_EQ(kind_of([&] { apply("Dropout", {var("x")}, {{"p", p}}); }), ErrorKind::kValue) << p;
  EXPECT_EQ(kind_of([] { apply("FullyConnected", {var("x")}, {{"num_hidden", "2147483648"}}); }), ErrorKind::kValue);
}

TEST(Signatures, VariablesKnowWhatTheyStartFrom) {
  const Symbol mean = var("mean");
  const Symbol norm = apply("BatchNorm", {var("x"), {}, {}, mean}, {{"lr_mult", "2"}});
  EXPECT_EQ(mean.attr("__init__"), R"(["zero", {}])");
  EXPECT_EQ(mean.attr("__lr_mult__"), std::nullopt);
  EXPECT_EQ(norm.attr_dict()["n_moving_var"]["__init__"], R"(["one", {}])");
  EXPECT_EQ(norm.attr_dict()["n_gamma"]["__lr_mult__"], "2");
}

TEST(Signatures, CastsOfMixedPrecisionCanBeLeftOut) {
  const Symbol x = var("x"), cast = apply("amp_cast", {x}, {{"dtype", "float16"}});
  const Symbol both = apply("amp_multicast", {cast, var("y")}, {{"num_outputs", "2"}});
  const Symbol sum = Symbol::apply("elemwise_add", "sum", {both[0], both[1]});
  const Symbol bare = Symbol::group({sum, cast}).without_amp_casts();
  EXPECT_EQ(bare.list_outputs(), (Names{"sum_output", "x"}));
  EXPECT_EQ(bare.internals().list_outputs(), (Names{"x", "y", "sum_output"}));
  EXPECT_EQ(sum.internals().size(), 6u);
}

TEST(Signatures, RandomNumbersAreFound) {
  const auto draws = [](const Symbol& symbol) { return draws_numbers(symbol.outputs()); };
  EXPECT_TRUE(draws(apply("square", {apply("Dropout", {var("x")})})));
  EXPECT_FALSE(draws(apply("square", {var("x")})));
}

}  // namespace
}  // namespace headrace
