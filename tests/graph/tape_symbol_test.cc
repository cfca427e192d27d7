#include "graph/tape_symbol.h"

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "graph/cached_op.h"
#include "graph/evaluate.h"
#include "graph/nodes.h"
#include "op/thread_state.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

class TapeSymbols : public testing::Test {
 protected:
  TapeSymbols() {
    autograd::mark_variable(x_, zeros_like(x_), GradReq::kWrite);
    thread_state().recording = true;
  }
  ~TapeSymbols() override { thread_state().recording = false; }

  NDArray x_ = array({1, 2, 3}), y_ = array({4, 5, 6});
};

TEST_F(TapeSymbols, WhatWasRecordedComputesTheSame) {
  const NDArray head = call("tanh", {call("broadcast_mul", {call("broadcast_mul", {x_, y_}), y_})});
  thread_state().recording = false;
  const Symbol symbol = symbol_of_tape(head);
  EXPECT_EQ(symbol.list_arguments(), (std::vector<std::string>{"var0", "null0"}));
  EXPECT_EQ(symbol.name(), "node_2");
  const std::vector<Node*> variables = inputs_of(symbol.outputs()).all;
  const std::vector<NDArray> found = evaluate(symbol.outputs(), {{variables[0], x_}, {variables[1], y_}});
  EXPECT_EQ(found[0].to_vector<float>(), head.to_vector<float>());
  EXPECT_EQ(Symbol::from_json(symbol.to_json()).list_outputs(), symbol.list_outputs());
}

TEST_F(TapeSymbols, WhatIsOnNoTapeIsRefused) {
  EXPECT_EQ(kind_of([&] { symbol_of_tape(y_); }), ErrorKind::kRuntime);
  const NDArray head = call("square", {x_});
  autograd::backward({&head, 1}, {}, false, true);
  EXPECT_EQ(kind_of([&] { symbol_of_tape(head); }), ErrorKind::kRuntime);
  CachedOp op(Symbol::apply("square", "s", {Symbol::variable("x")}));
  EXPECT_EQ(kind_of([&] { symbol_of_tape(op(std::vector{x_})[0]); }), ErrorKind::kRuntime);
}

}  // namespace
}  // namespace headrace
