#include "graph/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/error.hpp"
#include "headrace/symbol.hpp"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

constexpr const char* kDense = R"JSON({
  "nodes": [
    {
      "op": "null", 
      "name": "data", 
      "inputs": []
    }, 
    {
      "op": "null", 
      "name": "dense0_weight", 
      "attrs": {
        "__dtype__": "0", 
        "__lr_mult__": "1.0", 
        "__shape__": "(3, 0)", 
        "__storage_type__": "0", 
        "__wd_mult__": "1.0"
      }, 
      "inputs": []
    }, 
    {
      "op": "null", 
      "name": "dense0_bias", 
      "attrs": {
        "__dtype__": "0", 
        "__init__": "zeros", 
        "__lr_mult__": "1.0", 
        "__shape__": "(3,)", 
        "__storage_type__": "0", 
        "__wd_mult__": "1.0"
      }, 
      "inputs": []
    }, 
    {
      "op": "FullyConnected", 
      "name": "dense0_fwd", 
      "attrs": {
        "flatten": "True", 
        "no_bias": "False", 
        "num_hidden": "3"
      }, 
      "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    }, 
    {
      "op": "Activation", 
      "name": "dense0_relu_fwd", 
      "attrs": {"act_type": "relu"}, 
      "inputs": [[3, 0, 0]]
    }
  ], 
  "arg_nodes": [0, 1, 2], 
  "node_row_ptr": [0, 1, 2, 3, 4, 5], 
  "heads": [[4, 0, 0]], 
  "attrs": {"mxnet_version": ["int", 10901]}
})JSON";

Symbol saved_dense() {
  const Symbol::Texts shared{{"__dtype__", "0"}, {"lr_mult", "1.0"}, {"__storage_type__", "0"}, {"__wd_mult__", "1.0"}};
  Symbol::Texts weight = shared, bias = shared;
  weight["__shape__"] = "(3, 0)";
  bias["__shape__"] = "(3,)";
  bias["__init__"] = "zeros";
  const Symbol fc = Symbol::apply(
      "FullyConnected", "dense0_fwd",
      {Symbol::variable("data"), Symbol::variable("dense0_weight", weight), Symbol::variable("dense0_bias", bias)},
      {{"num_hidden", "3"}, {"flatten", "True"}, {"no_bias", "False"}});
  return Symbol::apply("Activation", "dense0_relu_fwd", {fc}, {{"act_type", "relu"}});
}

TEST(Json, IsWrittenAsMxnetDoes) { EXPECT_EQ(saved_dense().to_json(), kDense); }

TEST(Json, ReadingAndWritingGivesTheSameBytes) { EXPECT_EQ(Symbol::from_json(kDense).to_json(), kDense); }

TEST(Json, StringsKeepTheirBytes) {
  const std::string name = "a \"quoted\"\tname\\\r\n\xC3\xA9";
  EXPECT_EQ(Symbol::from_json(Symbol::variable(name).to_json()).name(), name);
}

TEST(Json, OlderSpellingsAreRead) {
  const Symbol old = Symbol::from_json(R"({"nodes": [
    {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
    {"op": "null", "name": "w", "inputs": []},
    {"op": "FullyConnected", "param": {"num_hidden": "3"}, "name": "fc", "inputs": [[0, 0], [1, 0]],
     "attr": {"weight_lr_mult": "5"}}],
    "arg_nodes": [0, 1], "heads": [[2, 0]]})");
  EXPECT_EQ(old.attr_dict()["w"]["__lr_mult__"], "5");
  EXPECT_EQ(old.list_arguments(), (std::vector<std::string>{"data", "w", "fc_bias"}));
}

std::string json_refusal(const std::string& text) {
  try {
    Symbol::from_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string with_node(const std::string& node, const std::string& heads = "[[1, 0, 0]]") {
  return R"({"nodes": [{"op": "null", "name": "x", "inputs": []}, )" + node + R"(], "arg_nodes": [0], "heads": )" +
         heads + "}";
}

TEST(Json, ErrorsSayWhatIsWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(json_refusal("{"), HasSubstr("no JSON"));
  EXPECT_THAT(json_refusal("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(json_refusal("{}"), HasSubstr("\"nodes\""));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "wibble", "name": "w", "inputs": [[0, 0, 0]]})")),
              testing::AllOf(HasSubstr("wibble"), HasSubstr("node w")));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": [[1, 0, 0]]})")),
              HasSubstr("depends on itself"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": [[-1, 0, 0]]})")), HasSubstr("negative"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": [[0, 9, 0]]})")), HasSubstr("output 9"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "sum", "name": "s", "inputs": [[0, 0, 0]], "attrs": {"a": "1"}})")),
              HasSubstr("'a'"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": [[0, 0, 0], [0, 0, 0]]})")),
              HasSubstr("2 inputs"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": [[0, 0, 0]]})", "[[7, 0, 0]]")),
              HasSubstr("node 7"));
  EXPECT_THAT(json_refusal(with_node(R"({"op": "tanh", "name": "t"})")), HasSubstr("\"inputs\""));
}

TEST(Json, NumbersOfOutputsAreLimited) {
  const auto split = [](const std::string& count) {
    return R"({"op": "SliceChannel", "name": "s", "inputs": [[0, 0, 0]], "attrs": {"num_outputs": ")" + count + "\"}}";
  };
  EXPECT_EQ(json_refusal(with_node(split("1000"))), "");
  EXPECT_THAT(json_refusal(with_node(split("2147483647"))), testing::HasSubstr("at most 1048576"));
  std::string several = split("400000");
  for (int i = 0; i < 2; ++i) several += ", " + split("400000");
  EXPECT_THAT(json_refusal(with_node(several)), testing::HasSubstr("more than 1048576 outputs together"));
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_NE(json_refusal(with_node(R"({"op": "tanh", "name": "t", "inputs": )" + std::string(100000, '[') +
                                   std::string(100000, ']') + "}")),
            "");
}

}  // namespace
}  // namespace headrace
