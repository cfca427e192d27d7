// Symbols hold MXNet's operators in place of np functions that MXNet does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/labels.h"
#include "graph/nodes.h"
#include "headrace/error.hpp"
#include "headrace/symbol.hpp"
#include "op/trace.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::string> operators_of(const Symbol& symbol) {
  std::vector<std::string> names;
  for (const Node* node : topological_order(symbol.outputs()))
    if (node->op) names.push_back(node->op->name);
  return names;
}

Symbol x() { return Symbol::variable("x"); }

TEST(Spelling, IsACallOfAnotherOperator) {
  const Symbol order = Symbol::apply("_np_argsort", "order", {x()}, {{"axis", "0"}}, {{"lr_mult", "2"}});
  EXPECT_THAT(operators_of(order), ElementsAre("argsort"));
  EXPECT_EQ(order.name(), "order");
  EXPECT_THAT(order.attrs(), testing::IsSupersetOf({Pair("axis", "0"), Pair("is_ascend", "True"),
                                                    Pair("dtype", "int64"), Pair("__lr_mult__", "2")}));
}

TEST(Spelling, MayBeCallsOfCalls) {
  const Symbol outer = Symbol::apply("_np_outer", "outer", {x(), Symbol::variable("y")});
  EXPECT_THAT(operators_of(outer), ElementsAre("_np_reshape", "_np_reshape", "_npi_tensordot_int_axes"));
  EXPECT_THAT(outer.list_arguments(), ElementsAre("x", "y"));
  EXPECT_THAT(outer.internals().list_outputs(),
              ElementsAre("x", "outer_a_output", "y", "outer_b_output", "outer_output"));
}

TEST(Spelling, OfTheOperatorItselfSaysWhatIsWritten) {
  const Symbol zeros = Symbol::apply("_npi_zeros", "zeros", {}, {{"shape", "(2,)"}, {"order", "C"}});
  EXPECT_THAT(zeros.attrs(), ElementsAre(Pair("shape", "(2,)")));
}

TEST(Spelling, OfTracedGraphs) {
  TraceScope scope(false, true);
  const NDArray data = traced_variable("x", {2, 3}, DType::kFloat32, {});
  const Symbol symbol = symbol_of_trace(
      {call("_np_outer", {call("_np_swapaxes", {data}, {{"axis1", int64_t{0}}, {"axis2", int64_t{1}}}), data})});
  EXPECT_THAT(operators_of(symbol), ElementsAre("SwapAxis", "_np_reshape", "_np_reshape", "_npi_tensordot_int_axes"));
}

TEST(Spelling, RefusesWhatTheFunctionRefuses) {
  EXPECT_THROW(Symbol::apply("_np_clip", "clip", {x()}), Error);
  EXPECT_THROW(Symbol::apply("_np_linalg_norm", "norm", {x()}, {{"ord", "fro"}, {"axis", "(0,)"}}), Error);
}

TEST(Spelling, EveryCallIsOneOfTheCatalogue) {
  for (const OpDef& op : catalogue().all()) {
    if (!op.spelling) continue;
    for (const Sample& sample : op.samples) {
      const AttrsPtr attrs = sample.attrs ? sample.attrs : op.default_attrs;
      const Spelling call = op.spelling(*attrs, sample.inputs.size());
      Symbol::Texts texts;
      for (const auto& [key, value] : call.attrs) texts.emplace(key, attr_to_text(value));
      EXPECT_NO_THROW(parse_attrs(find_op(call.op), texts)) << op.name;
    }
  }
}

}  // namespace
}  // namespace headrace
