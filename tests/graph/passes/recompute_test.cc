#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/traced_call.h"
#include "op/trace.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

const Shape kImages{4, 8, 16, 16};

Symbol layers(const Symbol& x, const std::string& name) {
  const Symbol normalized =
      Symbol::apply("BatchNorm", name,
                    {Symbol::apply("Convolution", name + "_conv", {x, var(name + "_weight")},
                                   {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "8"}, {"no_bias", "True"}}),
                     var(name + "_gamma"), var(name + "_beta"), var(name + "_mean"), var(name + "_var")},
                    {{"fix_gamma", "False"}});
  return normalized;
}

Symbol relu(const Symbol& x) { return Symbol::apply("relu", "", {x}); }
Symbol sum(const Symbol& a, const Symbol& b) { return Symbol::apply("elemwise_add", "", {a, b}); }

// `count` blocks with shortcuts.
Symbol residual(int count) {
  Symbol x = relu(layers(var("x"), "first"));
  for (int i = 0; i < count; ++i) {
    const std::string name = "block" + std::to_string(i);
    x = relu(sum(layers(relu(layers(x, name + "a")), name + "b"), x));
  }
  return layers(x, "last");
}

struct Whole {
  Lowered graph;
  size_t input_count, output_count;
};

Whole with_gradients(const Symbol& symbol) {
  TraceScope scope(true);
  std::vector<NDArray> inputs;
  for (const std::string& name : symbol.list_inputs())
    inputs.push_back(name == "x"                 ? abstract_variable(kImages, DType::kFloat32)
                     : name.ends_with("_weight") ? abstract_variable({8, 8, 3, 3}, DType::kFloat32)
                                                 : abstract_variable({8}, DType::kFloat32));
  TracedCall call = trace_call_of(symbol, inputs, std::vector<bool>(inputs.size(), true));
  std::vector<NDArray> all = call.variables, roots = call.outputs;
  all.insert(all.end(), call.heads.begin(), call.heads.end());
  roots.insert(roots.end(), call.gradients.begin(), call.gradients.end());
  Whole whole{lower(all, roots), inputs.size(), call.outputs.size()};
  optimize(whole.graph);
  fuse_batch_norms(whole.graph);
  return whole;
}

int64_t kept_bytes(const Halves& halves) {
  int64_t bytes = 0;
  for (int id : halves.kept) {
    const View& type = *halves.forward.values[static_cast<size_t>(id)].type;
    bytes += type.size() * static_cast<int64_t>(item_size(type.dtype()));
  }
  return bytes;
}

// Bytes that are kept for backward, first as they are and then with values that are computed again.
std::pair<int64_t, int64_t> kept(const Symbol& symbol) {
  Whole whole = with_gradients(symbol);
  const int64_t before = kept_bytes(split(whole.graph, whole.input_count, whole.output_count));
  recompute(whole.graph, whole.output_count);
  return {before, kept_bytes(split(whole.graph, whole.input_count, whole.output_count))};
}

TEST(Recompute, LayersGiveTheirResultsAgain) {
  constexpr int64_t kImage = 4 * 8 * 16 * 16 * 4, kStatistics = 2 * 8 * 4;
  // Of both layers what goes into the normalisation is kept; what goes into the second convolution is made again.
  const auto [before, after] = kept(layers(relu(layers(var("x"), "first")), "second"));
  EXPECT_EQ(before, 3 * kImage + 2 * kStatistics);
  EXPECT_EQ(after, 2 * kImage + 2 * kStatistics);
}

// Otherwise all of them would have to be made for the last one, before backward has begun.
TEST(Recompute, OfBlocksInAChainEveryOtherResultStays) {
  constexpr int64_t kImage = 4 * 8 * 16 * 16 * 4;
  for (int count : {1, 2, 3, 4, 5}) {
    const auto [before, after] = kept(residual(count));
    const int64_t results = count + 1;  // of relus behind sums, and of the first one
    EXPECT_EQ(before - after, (count + (results + 1) / 2) * kImage) << count;
  }
}

// Each right before it is read, so that it takes memory for as long.
TEST(Recompute, ValuesAreMadeWhereTheyAreRead) {
  Whole whole = with_gradients(residual(3));
  recompute(whole.graph, whole.output_count);
  const Halves halves = split(whole.graph, whole.input_count, whole.output_count);
  int seen = 0;
  for (size_t s = 0; s < halves.backward.steps.size(); ++s) {
    const Step& step = halves.backward.steps[s];
    if (step.op->name != "_batch_norm_again") continue;
    ++seen;
    size_t reader = s + 1;  // the sum and relu of a block come between
    while (reader < s + 3 && halves.backward.steps[reader].op->pointwise) ++reader;
    EXPECT_THAT(halves.backward.steps[reader].op->name, testing::HasSubstr("Convolution"));
  }
  EXPECT_GE(seen, 5);
}

TEST(Recompute, WhatLeavesTheGraphStays) {
  const Symbol result = relu(layers(var("x"), "first"));
  const auto [before, after] = kept(Symbol::group({result, layers(result, "second")}));
  EXPECT_EQ(before, after);
}

TEST(Recompute, LongChainsStay) {
  Symbol x = var("x");
  for (int i = 0; i < 40; ++i) x = sum(Symbol::apply("sin", "", {x}), x);  // each is read twice
  const Symbol weighted = Symbol::apply("Convolution", "conv", {x, var("conv_weight")},
                                        {{"kernel", "(3, 3)"}, {"num_filter", "8"}, {"no_bias", "True"}});
  const auto [before, after] = kept(weighted);
  EXPECT_LE(after, before);
  EXPECT_GT(after, before / 16);
}

}  // namespace
}  // namespace headrace
