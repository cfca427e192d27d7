// Sorting, selecting and running sums on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "headrace/arithmetic.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Columns = std::vector<NDArray>;

NDArray first_result(const char* op, const Columns& inputs, std::initializer_list<NamedAttr> attrs) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs)[0];
}

// Many are equal, and of floats some are NaN, infinite or a zero with a sign.
NDArray with_ties(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7919 % 13) - (is_floating(dtype) ? 6.0 : 0.0);
    if (!is_floating(dtype)) continue;
    if (i % 17 == 3) values[i] = std::nan("");
    if (i % 19 == 5) values[i] = i % 2 == 0 ? kInf : -kInf;
    if (i % 23 == 7) values[i] = -0.0;
  }
  return cast_to(NDArray::from_host(values.data(), shape, DType::kFloat64), dtype);
}

TEST(CudaOrderSlow, RowsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    for (const bool ascending : {true, false})
      for (const int64_t axis : {0, 1, 2}) {
        const auto attributes = {NamedAttr{"axis", axis}, NamedAttr{"is_ascend", ascending}};
        for (const char* op : {"sort", "argsort"})
          expect_as_on_host({with_ties({5, 9, 6}, dtype)},
                            [&](const Columns& in) { return first_result(op, in, attributes); });
      }
}

// Below, at and above what one block orders.
TEST(CudaOrderSlow, RowsOfEveryLength) {
  for (const int64_t length : {1, 2, 3, 511, 512, 513, 5000})
    for (const bool ascending : {true, false})
      expect_as_on_host({with_ties({3, length}, DType::kFloat32)}, [&](const Columns& in) {
        return first_result("argsort", in, {{"is_ascend", ascending}, {"dtype", DType::kInt64}});
      });
}

TEST(CudaOrderSlow, TheFirstOfRows) {
  for (const char* kind : {"value", "indices", "mask"})
    for (const int64_t k : {1, 4})
      for (const int64_t axis : {0, 1})
        expect_as_on_host({with_ties({6, 40}, DType::kFloat32)}, [&](const Columns& in) {
          return first_result("topk", in, {{"k", k}, {"axis", axis}, {"ret_typ", std::string(kind)}});
        });
}

TEST(CudaOrderSlow, RunningSumsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    for (const int64_t axis : {0, 1})
      for (const bool reverse : {false, true})
        for (const Shape& shape : {Shape{5, 4, 3}, Shape{300, 7, 2}, Shape{2, 1000, 1}})
          expect_as_on_host({varied(shape, dtype, 98)}, [&](const Columns& in) {
            return first_result("_cumulative_sum", in, {{"axis", axis}, {"reverse", reverse}});
          });
}

}  // namespace
}  // namespace headrace
