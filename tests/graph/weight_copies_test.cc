// Weights that kernels keep in layouts of their own: whoever changes the weights changes what is predicted.
#include <gtest/gtest.h>

#include <thread>

#include "autograd/autograd.h"
#include "graph/cached_op.h"
#include "ndarray/layout_copies.h"
#include "op/pointwise.h"
#include "tests/graph/graphs.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

const Shape kData{2, 8, 9, 9}, kWeight{24, 8, 3, 3};

Symbol network() {
  const Symbol data = Symbol::variable("data"), weight = Symbol::variable("weight");
  return Symbol::apply("Convolution", "conv", {data, weight},
                       {{"kernel", "(3, 3)"}, {"num_filter", "24"}, {"no_bias", "True"}});
}

// What the network gives with these very numbers in arrays that nobody ever saw.
std::string fresh(const NDArray& data, const NDArray& weight) {
  CachedOp op(network());
  const Arrays inputs{data, NDArray::from(std::span<const float>(weight.to_vector<float>()), weight.shape())};
  return bytes_of(op(inputs)[0]);
}

class WeightCopies : public testing::Test {
 protected:
  // Often enough for copies to be kept.
  void predict() {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(bytes_of(op(Arrays{data, weight})[0]) == fresh(data, weight)) << i;
  }
  void assign(const char* name, std::initializer_list<NDArray> inputs) {
    NDArray target = weight;
    const OpDef& assigned = find_op(name);
    invoke(assigned, assigned.default_attrs, {inputs.begin(), inputs.size()}, {&target, 1});
  }
  CachedOp op{network()};
  NDArray data = varied(kData, DType::kFloat32, 1), weight = varied(kWeight, DType::kFloat32, 2);
};

TEST_F(WeightCopies, AreKeptWhileTheNetworkPredicts) {
  predict();
  weight.wait_to_read();
  LayoutCopies* const copies = weight.view()->storage()->copies();
  ASSERT_NE(copies, nullptr);
  EXPECT_FALSE(copies->find(nullptr, "anything").is_worth_keeping);
}

TEST_F(WeightCopies, FollowAssignments) {
  predict();
  assign("elemwise_add", {varied(kWeight, DType::kFloat32, 3), varied(kWeight, DType::kFloat32, 4)});
  predict();
  copy_into(weight, varied(kWeight, DType::kFloat32, 5));
  predict();
}

TEST_F(WeightCopies, FollowChainsOfOperationsInPlace) {
  predict();
  for (int i = 0; i < 20; ++i) assign("elemwise_sub", {weight, varied(kWeight, DType::kFloat32, 6)});
  predict();
}

TEST_F(WeightCopies, FollowAssignmentsToParts) {
  predict();
  const NDArray part = call("slice_axis", {weight}, {{"axis", int64_t{0}}, {"begin", int64_t{3}}, {"end", int64_t{4}}});
  ASSERT_EQ(part.view()->storage(), weight.view()->storage());
  copy_into(part, varied(part.shape(), DType::kFloat32, 7));
  predict();
}

TEST_F(WeightCopies, FollowOptimizers) {
  static const OpDef& sgd = find_op("sgd_update");
  predict();
  const UpdateCall update{{weight, varied(kWeight, DType::kFloat32, 8)}, attrs_of(sgd, {{"lr", 0.1}})};
  update_many(sgd, {&update, 1});
  predict();
  assign("sgd_update", {weight, varied(kWeight, DType::kFloat32, 9)});
  predict();
}

// The kernel that takes b in its own layout may add up in another order.
TEST(DenseWeightCopies, FollowTheWeights) {
  const Symbol layer = Symbol::apply("FullyConnected", "fc", {Symbol::variable("data"), Symbol::variable("weight")},
                                     {{"num_hidden", "96"}, {"no_bias", "True"}});
  CachedOp op(layer);
  const Shape shape{96, 200};
  const NDArray data = varied({3, 200}, DType::kFloat32, 1), weight = varied(shape, DType::kFloat32, 2);
  for (uint64_t round = 0; round < 3; ++round) {
    CachedOp other(layer);
    const NDArray unseen = NDArray::from(std::span<const float>(weight.to_vector<float>()), shape);
    const std::vector<float> expected = other(Arrays{data, unseen})[0].to_vector<float>();
    for (int i = 0; i < 4; ++i) {
      const std::vector<float> actual = op(Arrays{data, weight})[0].to_vector<float>();
      for (size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(actual[k], expected[k], 1e-4) << round << " " << i;
    }
    copy_into(weight, varied(shape, DType::kFloat32, 3 + round));
  }
}

TEST_F(WeightCopies, ThreadsPredictWhileWeightsChangeBetweenRounds) {
  for (int round = 0; round < 5; ++round) {
    const std::string expected = fresh(data, weight);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (int& mine : wrong)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) mine += bytes_of(op(Arrays{data, weight})[0]) != expected;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
    copy_into(weight, varied(kWeight, DType::kFloat32, 20 + static_cast<uint64_t>(round)));
  }
}

}  // namespace
}  // namespace headrace
