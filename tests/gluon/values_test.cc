// Arrays made from numbers, printed and compared, as programs that include headrace.hpp do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <headrace/headrace.hpp>
#include <headrace/sparse.hpp>
#include <limits>
#include <sstream>

namespace headrace {
namespace {

using ::testing::ElementsAre;

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

ErrorKind kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorKind::kRuntime;
}

TEST(Literal, BracesAreAxes) {
  EXPECT_EQ(nd::array(3).shape(), Shape{});
  EXPECT_EQ(nd::array({1, 2, 3}).shape(), (Shape{3}));
  EXPECT_EQ(nd::array({{1, 2, 3}}).shape(), (Shape{1, 3}));
  EXPECT_EQ(nd::array({{{1}, {2}}, {{3}, {4}}}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(nd::array({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_THAT(nd::array({{1, 2}, {3, 4.5}}).to_vector<float>(), ElementsAre(1, 2, 3, 4.5));
  EXPECT_THAT(nd::array({1, 2}, DType::kInt32).to_vector<int32_t>(), ElementsAre(1, 2));
  EXPECT_EQ(kind_of([] { nd::array({{1, 2}, {3}}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { nd::array({{1, 2}, 3}); }), ErrorKind::kValue);
}

TEST(Print, Arrays) {
  EXPECT_EQ(printed(nd::array({{1, 2}, {3, 40}})), "[[ 1.  2.]\n [ 3. 40.]]\n<NDArray 2x2 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({0.5, 1e-9, 1e30})), "[  0.5 1e-09 1e+30]\n<NDArray 3 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({1, -2}, DType::kInt8)), "[ 1 -2]\n<NDArray 2 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({0, 1}, DType::kBool)), "[false  true]\n<NDArray 2 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({1.5}, DType::kFloat16)), "[1.5]\n<NDArray 1 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({{{1}, {2}}, {{3}, {4}}})),
            "[[[1.]\n  [2.]]\n\n [[3.]\n  [4.]]]\n<NDArray 2x2x1 @cpu(0)>");
  EXPECT_EQ(printed(nd::array({{}, {}})), "[[]\n []]\n<NDArray 2x0 @cpu(0)>");
  EXPECT_EQ(printed(nd::array(7)), "7.\n<NDArray  @cpu(0)>");
  EXPECT_EQ(printed(NDArray()), "<no array>");
}

// Of those only what is shown is brought to the host.
TEST(Print, LargeArraysAtTheirEnds) {
  EXPECT_EQ(printed(nd::arange(2000)), "[   0.    1.    2. ... 1997. 1998. 1999.]\n<NDArray 2000 @cpu(0)>");
}

TEST(Print, NumbersThatAreNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(printed(nd::array({std::numeric_limits<double>::quiet_NaN(), -infinity})),
            "[ nan -inf]\n<NDArray 2 @cpu(0)>");
}

TEST(Print, LargeArraysShowTheirEdges) {
  EXPECT_EQ(printed(nd::arange(0, {.stop = 2000})),
            "[   0.    1.    2. ... 1997. 1998. 1999.]\n<NDArray 2000 @cpu(0)>");
  const std::string rows = printed(nd::ones({600, 2}));
  EXPECT_EQ(rows, "[[1. 1.]\n [1. 1.]\n [1. 1.]\n ...\n [1. 1.]\n [1. 1.]\n [1. 1.]]\n<NDArray 600x2 @cpu(0)>");
}

TEST(Print, SparseArraysSayHowTheyAreStored) {
  EXPECT_EQ(printed(sparse::zeros(StorageKind::kCsr, {3, 4})), "<csr NDArray 3x4 @cpu(0)>");
}

TEST(Print, ShapesDevicesAndDTypes) {
  EXPECT_EQ(printed(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(printed(Shape{2}), "(2,)");
  EXPECT_EQ(printed(gpu(1)), "gpu(1)");
  EXPECT_EQ(printed(DType::kBfloat16), "bfloat16");
}

TEST(Comparison, ElementByElement) {
  const NDArray x = nd::array({1, 2, 3}), y = nd::array({3, 2, 1});
  EXPECT_EQ((x < y).dtype(), DType::kBool);
  const auto truths = [](const NDArray& mask) {
    std::string text;
    for (bool truth : [&] { return nd::cast(mask, DType::kInt32).to_vector<int32_t>(); }()) text += truth ? '1' : '0';
    return text;
  };
  EXPECT_EQ(truths(x == y), "010");
  EXPECT_EQ(truths(x != y), "101");
  EXPECT_EQ(truths(x < y), "100");
  EXPECT_EQ(truths(x <= y), "110");
  EXPECT_EQ(truths(x > y), "001");
  EXPECT_EQ(truths(x >= y), "011");
  EXPECT_EQ(truths(x == 2), "010");
  EXPECT_EQ(truths(2 != x), "101");
  EXPECT_EQ(truths(x < 2) + truths(x <= 2) + truths(x > 2) + truths(x >= 2), "100110001011");
  EXPECT_EQ(truths(2 > x) + truths(2 >= x) + truths(2 < x) + truths(2 <= x), "100110001011");
  EXPECT_EQ(truths(nd::array({1, 2}, DType::kInt32) < 1.5), "10");
}

TEST(Comparison, IsAConditionWhereItHasOneElement) {
  EXPECT_TRUE(nd::array({2}) == 2);
  EXPECT_FALSE(nd::array({2}) < 2);
  EXPECT_EQ(kind_of([] { static_cast<void>(static_cast<bool>(nd::array({1, 2}) == 1)); }), ErrorKind::kValue);
}

TEST(Comparison, OfWholeArrays) {
  const NDArray x = nd::array({1, 2});
  EXPECT_TRUE(array_equal(x, nd::array({1, 2}, DType::kInt32)));
  EXPECT_FALSE(array_equal(x, nd::array({1, 3})));
  EXPECT_FALSE(array_equal(x, nd::array({{1, 2}})));
  EXPECT_TRUE(array_equal(nd::array({{}}), nd::array({{}})));
  EXPECT_TRUE(allclose(x, x + 1e-6));
  EXPECT_FALSE(allclose(x, x + 0.1));
  EXPECT_TRUE(allclose(x, x + 0.1, 0, 0.2));
  const NDArray infinite = nd::array({std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(allclose(infinite, infinite));
  EXPECT_FALSE(allclose(nd::array({1}), infinite));
  EXPECT_FALSE(allclose(infinite / infinite, infinite / infinite));
  EXPECT_EQ(kind_of([&] { array_equal(x, NDArray()); }), ErrorKind::kType);
}

TEST(Axes, AreOneOrSeveralOrNone) {
  const NDArray x = nd::ones({2, 3, 4});
  EXPECT_EQ(nd::sum(x, {.axis = 1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(nd::sum(x, {.axis = -1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(nd::sum(x, {.axis = {0, 2}}).shape(), (Shape{3}));
  EXPECT_EQ(nd::sum(x, {.axis = {{0, 2}}}).shape(), (Shape{3}));
  EXPECT_EQ(nd::sum(x, {.axis = {{1}}}).shape(), (Shape{2, 4}));
  EXPECT_EQ(nd::sum(x, {.axis = Shape{0}}).shape(), (Shape{3, 4}));
  EXPECT_EQ(nd::sum(x, {.axis = std::nullopt}).shape(), (Shape{1}));
  EXPECT_EQ(np::sum(x, {.axis = 0, .keepdims = true}).shape(), (Shape{1, 3, 4}));
}

TEST(NdFunctions, GiveMemoryOfTheirOwn) {
  using Function = std::function<NDArray(const NDArray&)>;
  const Function functions[] = {
      [](const NDArray& x) { return nd::reshape(x, {.shape = {4}}); },
      [](const NDArray& x) { return nd::transpose(x); },
      [](const NDArray& x) { return nd::slice(x, {0}, {1}); },
      [](const NDArray& x) { return nd::expand_dims(x, 0); },
      [](const NDArray& x) { return nd::flatten(x); },
      [](const NDArray& x) { return nd::split(x, 2)[0]; },
      [](const NDArray& x) { return nd::Dropout(x); },
      [](const NDArray& x) { return gluon::nn::Flatten()(x); },
      [](const NDArray& x) { return gluon::nn::Dropout(0.5)(x); },
  };
  for (size_t i = 0; i < std::size(functions); ++i) {
    const NDArray x = nd::zeros({2, 2});
    NDArray y = functions[i](x);
    y += 1;
    EXPECT_EQ(nd::sum(x).item(), 0) << i;
  }
  const NDArray x = nd::zeros({2, 2});
  NDArray view = np::transpose(x);
  view += 1;
  EXPECT_EQ(nd::sum(x).item(), 4);
}

}  // namespace
}  // namespace headrace
