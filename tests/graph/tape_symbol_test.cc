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
  NDArray made = zeros_like(x_);
  autograd::record_node({&x_, 1}, {&made, 1}, [](Gradient& g) { g.set(0, g.head()); });
  EXPECT_EQ(kind_of([&] { symbol_of_tape(made); }), ErrorKind::kRuntime);
}

TEST_F(TapeSymbols, CallsOfHybridizedBlocksAreOpened) {
  const Symbol a = Symbol::variable("a"), b = Symbol::variable("b");
  CachedOp op(Symbol::apply("elemwise_mul", "product", {Symbol::apply("square", "s", {a}), b}));
  const NDArray first = op(std::vector{x_, y_})[0];
  const NDArray head = call("tanh", {op(std::vector{first, call("_copy", {y_})})[0]});
  thread_state().recording = false;
  const Symbol symbol = symbol_of_tape(head);
  EXPECT_EQ(symbol.list_arguments(), (std::vector<std::string>{"var0", "null0", "null1"}));
  const std::vector<Node*> variables = inputs_of(symbol.outputs()).all;
  const std::vector<NDArray> found =
      evaluate(symbol.outputs(), {{variables[0], x_}, {variables[1], y_}, {variables[2], y_}});
  EXPECT_EQ(found[0].to_vector<float>(), head.to_vector<float>());
}

}  // namespace
}  // namespace headrace
