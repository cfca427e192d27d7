// sort, argsort and topk on the plug-in's GPUs, beside the host: their results are its bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "headrace/autograd.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;
using Attrs = std::initializer_list<NamedAttr>;

Arrays results_of(const char* op, const NDArray& x, const Attrs& attrs) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), Arrays{x});
}

void expect_bits_of_host(const char* op, const NDArray& x, const Attrs& attrs) {
  const int64_t before = count_of_detours();
  const Arrays here = results_of(op, x, attrs), there = results_of(op, as_in_context(x, kGpu0), attrs);
  ASSERT_EQ(here.size(), there.size());
  for (size_t k = 0; k < here.size(); ++k) {
    const std::string expected = bytes_of(here[k]), found = bytes_of(as_in_context(there[k], {}));
    const auto differs = std::ranges::mismatch(expected, found).in1 - expected.begin();
    EXPECT_TRUE(found == expected) << op << " of " << std::string(to_string(x.shape())) << ", result " << k << ", byte "
                                   << differs << " of " << expected.size();
  }
  EXPECT_EQ(count_of_detours(), before);
}

// Many equal values, zeros of both signs, infinities and NaN.
NDArray ties(const Shape& shape, uint64_t seed) {
  const float special[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0.5f};
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& value : values) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    value = special[(seed >> 40) % 8];
  }
  return array(values, shape);
}

TEST(CudaOrderingSlow, EveryDType) {
  for (const DType dtype : kAllDTypes) {
    const NDArray x = varied({5, 37}, dtype, 1);
    for (const bool ascending : {false, true}) {
      expect_bits_of_host("sort", x, {{"is_ascend", ascending}});
      expect_bits_of_host("argsort", x, {{"is_ascend", ascending}, {"dtype", dtype}});
    }
    for (const char* result : {"value", "indices", "both", "mask"})
      expect_bits_of_host("topk", x, {{"k", int64_t{3}}, {"ret_typ", std::string(result)}, {"dtype", dtype}});
  }
}

TEST(CudaOrderingSlow, WholeRangesOfIntegers) {
  for (const DType dtype : {DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64}) {
    const NDArray x = call("_mul_scalar", {cast_to(varied({300}, DType::kInt8, 2), dtype)}, {{"scalar", 715827882.0}});
    expect_bits_of_host("sort", x, {});
    expect_bits_of_host("argsort", x, {{"is_ascend", false}});
  }
}

TEST(CudaOrderingSlow, RowsOfAnyLength) {
  for (const int64_t length : {1, 7, 8, 9, 300, 2048, 2049, 9000}) {
    const NDArray x = varied({length > 1000 ? 2 : 70, length}, DType::kFloat32, 3);
    expect_bits_of_host("sort", x, {});
    expect_bits_of_host("argsort", x, {{"is_ascend", false}, {"dtype", DType::kInt32}});
  }
}

// Digit by digit: with values alone, with positions, in tiles that are not full, along a first axis.
TEST(CudaOrderingSlow, LongRows) {
  const NDArray x = ties({2, 40'000}, 6);
  expect_bits_of_host("sort", x, {});
  expect_bits_of_host("argsort", x, {{"is_ascend", false}, {"dtype", DType::kInt32}});
  expect_bits_of_host("topk", ties({40'960}, 7), {{"k", int64_t{40'000}}, {"ret_typ", std::string("both")}});
  expect_bits_of_host("sort", varied({50'000}, DType::kBfloat16, 8), {{"is_ascend", false}});
  expect_bits_of_host("sort", varied({36'000, 2}, DType::kInt32, 9), {{"axis", int64_t{0}}});
  expect_bits_of_host("sort", varied({530'000}, DType::kInt64, 10), {});
  expect_bits_of_host("argsort", varied({530'000}, DType::kFloat64, 11), {{"dtype", DType::kInt64}});
}

TEST(CudaOrderingSlow, EqualAndUnorderedValues) {
  for (const int64_t length : {40, 5000})
    for (const bool ascending : {false, true})
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const NDArray x = cast_to(ties({2, length}, 4), dtype);
        expect_bits_of_host("sort", x, {{"is_ascend", ascending}});
        expect_bits_of_host("argsort", x, {{"is_ascend", ascending}});
        expect_bits_of_host("topk", x, {{"k", int64_t{20}}, {"ret_typ", std::string("both")}});
      }
}

TEST(CudaOrderingSlow, AnyAxis) {
  const NDArray x = ties({3, 20, 5}, 5);
  for (const int64_t axis : {0, 1, 2, -1}) {
    expect_bits_of_host("sort", x, {{"axis", axis}});
    expect_bits_of_host("argsort", x, {{"axis", axis}});
    for (const char* result : {"both", "mask"})
      expect_bits_of_host("topk", x, {{"axis", axis}, {"k", int64_t{2}}, {"ret_typ", std::string(result)}});
  }
  expect_bits_of_host("sort", x, {{"axis", std::monostate{}}});
  expect_bits_of_host("sort", ties({2, 3000, 3}, 6), {{"axis", int64_t{1}}});
}

// The first of tiles are put together until one tile is left, or all are merged.
TEST(CudaOrderingSlow, FirstOfLongRows) {
  const NDArray x = varied({2, 12'000}, DType::kFloat16, 7);
  for (const int64_t k : {1, 500, 600, 12'000})
    for (const char* result : {"both", "mask"})
      expect_bits_of_host("topk", x, {{"k", k}, {"ret_typ", std::string(result)}, {"dtype", DType::kInt32}});
}

TEST(CudaOrderingSlow, ArraysWithoutElements) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}})
    for (const char* op : {"sort", "argsort"}) expect_bits_of_host(op, varied(shape, DType::kFloat32, 8), {});
}

TEST(CudaOrderingSlow, GradientsGoBackToTheirElements) {
  for (const Shape& shape : {Shape{4, 30}, Shape{2, 3000}})
    for (const int64_t axis : {0, 1})
      expect_as_on_host({varied(shape, DType::kFloat32, 9), varied(shape, DType::kFloat32, 10)},
                        [axis](const Arrays& in) {
                          NDArray x = in[0];
                          autograd::attach_grad(x);
                          NDArray loss;
                          {
                            const autograd::RecordScope scope;
                            const NDArray sorted = call("sort", {x}, {{"axis", axis}});
                            loss = call("sum", {call("broadcast_mul", {sorted, in[1]})});
                          }
                          autograd::backward(loss);
                          return autograd::grad_of(x);
                        });
}

TEST(CudaOrderingSlow, ElementsAlongAnAxis) {
  const NDArray x = varied({4, 6, 3}, DType::kInt16, 11);
  for (const int64_t axis : {0, 1, 2}) {
    const NDArray at = call("argsort", {x}, {{"axis", axis}, {"dtype", DType::kInt64}});
    expect_as_on_host({x, at}, [axis](const Arrays& in) {
      return call("_take_along_axis", {in[0], in[1]}, {{"axis", axis}});
    });
    expect_as_on_host({x, at}, [axis](const Arrays& in) {
      return call("_put_along_axis", {in[0], in[1]}, {{"axis", axis}, {"shape", in[0].shape()}});
    });
  }
}

}  // namespace
}  // namespace headrace
