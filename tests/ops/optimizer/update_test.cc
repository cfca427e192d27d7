#include <gtest/gtest.h>

#include "headrace/autograd.hpp"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

NDArray vector_of(std::vector<float> values) {
  return NDArray::from<float>(values, Shape{static_cast<int64_t>(values.size())});
}

// One update written into the weight, as frontends do.
void update(const char* name, std::vector<NDArray> inputs, std::initializer_list<NamedAttr> attrs) {
  const OpDef& op = find_op(name);
  NDArray weight = inputs[0];
  invoke(op, attrs_of(op, attrs), inputs, {&weight, 1});
}

TEST(Update, SgdDoesNotClipTheDecay) {
  NDArray weight = vector_of({1, -1});
  update("sgd_update", {weight, vector_of({10, -10})}, {{"lr", 0.1}, {"wd", 0.5}, {"clip_gradient", 1.0}});
  std::vector<float> values = weight.to_vector<float>();
  EXPECT_FLOAT_EQ(values[0], 1 - 0.1f * (1 + 0.5f));
  EXPECT_FLOAT_EQ(values[1], -1 + 0.1f * (1 + 0.5f));
}

TEST(Update, StatesAreChangedInPlace) {
  NDArray weight = vector_of({1}), momentum = vector_of({0.5});
  update("sgd_mom_update", {weight, vector_of({2}), momentum}, {{"lr", 0.1}, {"momentum", 0.9}});
  EXPECT_FLOAT_EQ(momentum.to_vector<float>()[0], 0.9f * 0.5f - 0.2f);
  EXPECT_FLOAT_EQ(weight.to_vector<float>()[0], 1 + 0.9f * 0.5f - 0.2f);
}

TEST(Update, HasNoGradient) {
  NDArray weight = vector_of({1, 2}), result;
  autograd::attach_grad(weight);
  {
    autograd::RecordScope scope;
    result = call("adam_update", {weight, vector_of({2, 2}), vector_of({0, 0}), vector_of({0, 0})}, {{"lr", 0.1}});
  }
  EXPECT_EQ(kind_of([&] { autograd::backward(result); }), ErrorKind::kRuntime);
}

TEST(Update, MasterCopyKeepsWhatHalfPrecisionLoses) {
  NDArray master = vector_of({1});
  NDArray weight = cast_to(master, DType::kFloat16), gradient = cast_to(vector_of({1}), DType::kFloat16);
  for (int step = 0; step < 100; ++step) update("mp_sgd_update", {weight, gradient, master}, {{"lr", 1e-5}});
  EXPECT_NEAR(master.to_vector<float>()[0], 1 - 1e-3, 1e-5);
  EXPECT_EQ(weight.dtype(), DType::kFloat16);
  EXPECT_NEAR(cast_to(weight, DType::kFloat32).to_vector<float>()[0], 1 - 1e-3, 5e-4);
}

TEST(Update, ManyInOneTaskAreAsOneByOne) {
  const OpDef& op = find_op("adam_update");
  std::vector<UpdateCall> calls;
  std::vector<NDArray> together, apart;
  for (float start : {1.0f, 2.0f, 3.0f}) {
    AttrsPtr attrs = attrs_of(op, {{"lr", 0.1 * start}, {"wd", 0.01}});
    std::vector<NDArray> one = {vector_of({start}), vector_of({-start}), vector_of({0}), vector_of({0})};
    std::vector<NDArray> two = {vector_of({start}), vector_of({-start}), vector_of({0}), vector_of({0})};
    calls.push_back({one, attrs});
    together.push_back(one[0]);
    NDArray weight = two[0];
    invoke(op, attrs, two, {&weight, 1});
    apart.push_back(weight);
  }
  update_many(op, calls);
  for (size_t i = 0; i < apart.size(); ++i) EXPECT_EQ(together[i].to_vector<float>(), apart[i].to_vector<float>());
}

TEST(Update, ManyOfAllSizesAndOrdersAreAsOneByOne) {
  const OpDef& op = find_op("sgd_mom_update");
  const AttrsPtr attrs = attrs_of(op, {{"lr", 0.5}, {"momentum", 0.25}});
  const Shape shapes[] = {{3}, {200, 300}, {0}, {1}, {300, 400}, {7, 5}};
  // A weight whose gradient lies in another order of the axes, too.
  const auto arrays = [&](size_t i) {
    const Shape& shape = shapes[i];
    const bool turns = shape.size() == 2 && i % 2 == 0;
    const NDArray gradient = turns ? call("transpose", {varied({shape[1], shape[0]}, DType::kFloat32, 20 + i)})
                                   : varied(shape, DType::kFloat32, 20 + i);
    return std::vector<NDArray>{varied(shape, DType::kFloat32, i), gradient, varied(shape, DType::kFloat32, 40 + i)};
  };
  std::vector<UpdateCall> calls;
  for (size_t i = 0; i < std::size(shapes); ++i) calls.push_back({arrays(i), attrs});
  update_many(op, calls);
  for (size_t i = 0; i < std::size(shapes); ++i) {
    const std::vector<NDArray> alone = arrays(i);
    NDArray weight = alone[0];
    invoke(op, attrs, alone, {&weight, 1});
    for (size_t k : {0, 2}) EXPECT_EQ(bytes_of(calls[i].inputs[k]), bytes_of(alone[k])) << i << " " << k;
  }
}

TEST(Update, TheSameArrayTwiceIsUpdatedTwiceInTurn) {
  const OpDef& op = find_op("sgd_update");
  const Shape shape{100, 1000};
  const NDArray weight = varied(shape, DType::kFloat32, 1), gradient = varied(shape, DType::kFloat32, 2);
  NDArray expected = copied_to(weight, Device{});
  std::vector<UpdateCall> calls;
  for (double lr : {0.5, 0.25}) {
    calls.push_back({{weight, gradient}, attrs_of(op, {{"lr", lr}, {"wd", 0.125}})});
    const NDArray inputs[] = {expected, gradient};
    invoke(op, calls.back().attrs, inputs, {&expected, 1});
  }
  update_many(op, calls);
  EXPECT_EQ(bytes_of(weight), bytes_of(expected));
}

TEST(Update, RefusesOtherShapes) {
  EXPECT_THROW(update("sgd_update", {vector_of({1, 2}), vector_of({1})}, {{"lr", 0.1}}), Error);
  const OpDef& op = find_op("sgd_update");
  UpdateCall call{{vector_of({1, 2}), vector_of({1})}, attrs_of(op, {{"lr", 0.1}})};
  EXPECT_THROW(update_many(op, {&call, 1}), Error);
}

}  // namespace
}  // namespace headrace
