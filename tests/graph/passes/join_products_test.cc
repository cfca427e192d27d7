#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "graph/cached_op.h"
#include "graph/passes.h"
#include "op/thread_state.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;
using Body = std::function<Arrays(const Arrays&)>;
using testing::HasSubstr;

constexpr int64_t kSteps = 4;

NDArray product_of_rows(const NDArray& a, const NDArray& b) { return call("dot", {a, b}, {{"transpose_a", true}}); }
NDArray sum_of_rows(const NDArray& a) { return call("_sum_axes", {a}, {{"axis", Shape{0}}}); }
NDArray plus(const NDArray& a, const NDArray& b) { return call("_grad_add", {a, b}); }
NDArray stacked_rows(const Arrays& arrays) {
  static const OpDef& op = find_op("Concat");
  return invoke_all(op, attrs_of(op, {{"dim", int64_t{0}}, {"num_args", static_cast<int64_t>(arrays.size())}}),
                    arrays)[0];
}

// Of factors a, a, a ..., b, b, b ...
NDArray sum_of_products(const Arrays& in) {
  NDArray sum;
  for (size_t t = kSteps; t-- > 0;) {
    const NDArray product = product_of_rows(in[t], in[t + kSteps]);
    sum = sum ? plus(sum, product) : product;
  }
  return sum;
}

std::string joined_graph(const Body& body, int64_t rows = 2) {
  std::vector<Shape> shapes(kSteps, Shape{rows, 16});
  shapes.insert(shapes.end(), kSteps, Shape{rows, 32});
  Lowered graph = traced(shapes, body);
  optimize(graph);
  join_products(graph);
  return to_text(graph);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(JoinProducts, ASumOfProductsIsOneProduct) {
  const std::string text = joined_graph([](const Arrays& in) -> Arrays { return {sum_of_products(in)}; });
  EXPECT_EQ(count(text, "= dot("), 1) << text;
  EXPECT_EQ(count(text, "_grad_add"), 0) << text;
  EXPECT_THAT(text, HasSubstr("= Concat(%3, %2, %1, %0, dim=0, num_args=4) : float32 (8, 16)"));
}

TEST(JoinProducts, RowsThatAreJoinedAlreadyAreNotJoinedAgain) {
  const Body body = [](const Arrays& in) -> Arrays {
    const NDArray backwards = stacked_rows({in[1], in[0], in[3], in[2]});
    NDArray bias = sum_of_rows(in[0]);
    for (size_t t = 1; t < kSteps; ++t) bias = plus(sum_of_rows(in[t]), bias);
    return {sum_of_products(in), call("negative", {backwards}), bias};
  };
  const std::string text = joined_graph(body);
  EXPECT_EQ(count(text, "= Concat("), 2) << text;
  EXPECT_THAT(text, HasSubstr("= Concat(%5, %4, %7, %6, dim=0")) << "the other factors, in the same order";
  EXPECT_EQ(count(text, "_sum_axes"), 1) << text;
}

TEST(JoinProducts, SumsOfRowsAreJoinedWhereTheRowsAre) {
  const std::string text =
      joined_graph([](const Arrays& in) -> Arrays { return {plus(sum_of_rows(in[0]), sum_of_rows(in[1]))}; });
  EXPECT_EQ(count(text, "_sum_axes"), 2) << text;
}

TEST(JoinProducts, OtherJoinsAreNotTakenForThoseOfAllRows) {
  const std::string text = joined_graph([](const Arrays& in) -> Arrays {
    return {call("negative", {stacked_rows({in[0], in[0], in[1], in[2]})}), sum_of_products(in)};
  });
  EXPECT_EQ(count(text, "= Concat("), 3) << text;
}

TEST(JoinProducts, WhatIsReadElsewhereStays) {
  const std::string text = joined_graph([](const Arrays& in) -> Arrays {
    const NDArray first = product_of_rows(in[0], in[4]), second = product_of_rows(in[1], in[5]);
    return {plus(first, second), call("negative", {first})};
  });
  EXPECT_EQ(count(text, "= dot("), 2) << text;
}

TEST(JoinProducts, OtherTermsAndManyRowsStay) {
  const std::string other = joined_graph([](const Arrays& in) -> Arrays {
    return {plus(sum_of_products(in), call("negative", {product_of_rows(in[0], in[5])}))};
  });
  EXPECT_EQ(count(other, "= dot("), kSteps + 1) << other;
  const std::string tall = joined_graph([](const Arrays& in) -> Arrays { return {sum_of_products(in)}; }, 64);
  EXPECT_EQ(count(tall, "= dot("), kSteps) << "copies of the factors would cost more than the sum";
}

// tanh(dot(h, w) + dot(x, v) + b), step after step, and the gradients of what all use.
std::vector<std::vector<double>> gradients_of_steps(bool compile) {
  Symbol h = var("h");
  const Symbol w = var("w"), v = var("v"), b = var("b");
  std::vector<Symbol> outputs;
  for (int t = 0; t < kSteps; ++t) {
    const Symbol x = var("x" + std::to_string(t));
    const Symbol sum =
        Symbol::apply("elemwise_add", "", {Symbol::apply("dot", "", {h, w}), Symbol::apply("dot", "", {x, v})});
    h = Symbol::apply("tanh", "", {Symbol::apply("broadcast_add", "", {sum, b})});
    outputs.push_back(h);
  }
  CachedOp op(Symbol::group(outputs), {.compile = compile});
  Arrays inputs, gradients;
  for (const std::string& name : op.symbol().list_inputs()) {
    const Shape shape = name == "w"   ? Shape{24, 24}
                        : name == "v" ? Shape{16, 24}
                        : name == "b" ? Shape{24}
                        : name == "h" ? Shape{3, 24}
                                      : Shape{3, 16};
    std::vector<double> values;
    for (int64_t i = 0; i < element_count(shape); ++i)
      values.push_back(std::sin(static_cast<double>(i * i + static_cast<int64_t>(inputs.size()))) / 4);
    inputs.push_back(NDArray::from_host(values.data(), shape, DType::kFloat64));
    gradients.push_back(zeros_like(inputs.back()));
    autograd::mark_variable(inputs.back(), gradients.back(), GradReq::kWrite);
  }
  thread_state().recording = thread_state().training = true;
  const Arrays results = op(inputs);
  thread_state().recording = thread_state().training = false;
  autograd::backward(results);
  std::vector<std::vector<double>> values;
  for (const NDArray& gradient : gradients) values.push_back(gradient.to_vector<double>());
  return values;
}

TEST(JoinProducts, GradientsStayWhatTheyAre) {
  const auto expected = gradients_of_steps(false), found = gradients_of_steps(true);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_THAT(found[i], testing::Pointwise(testing::DoubleNear(1e-12), expected[i]));
}

}  // namespace
}  // namespace headrace
