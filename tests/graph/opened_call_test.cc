#include "graph/opened_call.h"

#include <gtest/gtest.h>

#include "headrace/error.hpp"
#include "headrace/symbol.hpp"

namespace headrace {
namespace {

using Names = std::vector<std::string>;

Symbol sum(const std::string& name, const Symbol& a, const Symbol& b) {
  return Symbol::apply("elemwise_add", name, {a, b});
}

TEST(OpenedCall, InputsStandForTheVariablesInTheOrderOfReading) {
  const Symbol first = Symbol::variable("first"), second = Symbol::variable("second");
  const Symbol body = sum("outer", sum("inner", second, first), second);
  const std::vector<NDArray> inputs = {Symbol::variable("x").outputs()[0], Symbol::variable("y").outputs()[0]};
  const Symbol made(opened_call(body.outputs(), "part", inputs));
  EXPECT_EQ(made.list_inputs(), (Names{"x", "y"}));
  EXPECT_EQ(made.internals().list_outputs(), (Names{"x", "y", "part_inner_output", "part_outer_output"}));
  EXPECT_EQ(body.list_inputs(), (Names{"second", "first"})) << "the body was changed";
}

TEST(OpenedCall, ABodyThatIsItsInputGivesThatInput) {
  const Symbol x = Symbol::variable("x");
  const std::vector<NDArray> inputs = x.outputs();
  EXPECT_EQ(Symbol(opened_call(Symbol::variable("a").outputs(), "part", inputs)).list_outputs(), (Names{"x"}));
}

TEST(OpenedCall, AnotherNumberOfInputsIsRefused) {
  const Symbol body = sum("sum", Symbol::variable("a"), Symbol::variable("b"));
  const std::vector<NDArray> one = Symbol::variable("x").outputs();
  EXPECT_THROW(opened_call(body.outputs(), "part", one), Error);
  const std::vector<NDArray> three(3, one[0]);
  EXPECT_THROW(opened_call(body.outputs(), "part", three), Error);
}

}  // namespace
}  // namespace headrace
