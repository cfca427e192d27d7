// Indexing by arrays of coordinates on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

NDArray invoke_first(const char* op, const std::vector<NDArray>& inputs, std::initializer_list<NamedAttr> attrs = {}) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs)[0];
}

NDArray whole(const std::vector<float>& values, const Shape& shape) {
  return cast_to(array(values, shape), DType::kInt32);
}

TEST(CudaSelectionSlow, CoordinatesOfEveryDType) {
  const NDArray at = whole({0, 2, 1, 0, -1, 0, 3, 0}, {2, 4});  // some twice
  for (const DType dtype : kAllDTypes) {
    expect_as_on_host({varied({3, 4, 5}, dtype, 1), at},
                      [](const std::vector<NDArray>& in) { return invoke_first("gather_nd", in); });
    for (const char* op : {"scatter_nd", "_backward_gather_nd"})
      expect_as_on_host({varied({4, 5}, dtype, 2), at}, [op](const std::vector<NDArray>& in) {
        return invoke_first(op, in, {{"shape", Shape{3, 4, 5}}});
      });
    expect_as_on_host({varied({3, 4, 5}, dtype, 3), varied({4, 5}, dtype, 4), at}, [](const std::vector<NDArray>& in) {
      return invoke_first("_scatter_set_nd", in, {{"shape", Shape{3, 4, 5}}});
    });
  }
}

TEST(CudaSelectionSlow, TheLastOfManyStays) {
  const NDArray at = cast_to(varied({1, 6000}, DType::kInt8, 5), DType::kInt64);  // from -3 to 3
  for (const char* op : {"scatter_nd", "_backward_gather_nd"})
    expect_as_on_host({varied({6000, 2}, DType::kFloat32, 6), at}, [op](const std::vector<NDArray>& in) {
      return invoke_first(op, in, {{"shape", Shape{9, 2}}});
    });
}

TEST(CudaSelectionSlow, AnyAxes) {
  const NDArray x = varied({4, 3, 5, 2}, DType::kFloat32, 7);
  const NDArray column = whole({3, -1}, {2, 1}), row = whole({0, 2, 1}, {3}), one = whole({1}, {1});
  const std::pair<Shape, std::vector<NDArray>> selections[] = {
      {{0}, {row}}, {{2}, {column}}, {{0, 1}, {column, row}}, {{0, 2}, {column, row}}, {{1, 2, 3}, {row, column, one}}};
  for (const auto& [axes, indices] : selections) {
    std::vector<NDArray> inputs{x};
    inputs.insert(inputs.end(), indices.begin(), indices.end());
    const auto read = [&](const std::vector<NDArray>& in) {
      return invoke_first("_advanced_index", in, {{"axes", axes}});
    };
    expect_as_on_host(inputs, read);
    std::vector<NDArray> back = inputs;
    back[0] = read(inputs);
    expect_as_on_host(back, [&](const std::vector<NDArray>& in) {
      return invoke_first("_advanced_index_add", in, {{"axes", axes}, {"shape", Shape{4, 3, 5, 2}}});
    });
    inputs.insert(inputs.begin() + 1, varied({1}, DType::kFloat32, 8));
    expect_as_on_host(inputs, [&](const std::vector<NDArray>& in) {
      std::vector<NDArray> own = in;
      own[0] = call("_mul_scalar", {in[0]}, {{"scalar", 1.0}});
      return invoke_first("_advanced_index_assign", own, {{"axes", axes}});
    });
  }
}

TEST(CudaSelectionSlow, NothingIsSelected) {
  const NDArray none = whole({}, {0});
  expect_as_on_host({varied({4, 3}, DType::kFloat32, 9), none}, [](const std::vector<NDArray>& in) {
    return invoke_first("_advanced_index", in, {{"axes", Shape{0}}});
  });
  expect_as_on_host({varied({0, 3}, DType::kFloat32, 10), none}, [](const std::vector<NDArray>& in) {
    return invoke_first("_advanced_index_add", in, {{"axes", Shape{0}}, {"shape", Shape{4, 3}}});
  });
}

TEST(CudaSelectionSlow, CoordinatesOutOfBoundsRaise) {
  const NDArray x = as_in_context(varied({3, 4}, DType::kFloat32, 11), kGpu0);
  const NDArray at = as_in_context(whole({0, 1, 2, 5}, {2, 2}), kGpu0);
  try {
    as_in_context(invoke_first("gather_nd", {x, at}), {}).wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_NE(std::string(error.what()).find("index 5 is out of bounds for axis 1 with size 4"), std::string::npos);
  }
}

TEST(CudaSelectionSlow, GradientsOfTakenSlicesOfAnyAxis) {
  const NDArray at = cast_to(varied({500}, DType::kInt8, 12), DType::kFloat32);
  for (const int64_t axis : {0, 1}) {
    const Shape shape = axis == 0 ? Shape{500, 3, 2} : Shape{3, 500, 2};
    const Shape whole_shape = axis == 0 ? Shape{7, 3, 2} : Shape{3, 7, 2};
    for (const char* mode : {"clip", "wrap"})
      expect_as_on_host({varied(shape, DType::kFloat32, 13), at}, [&](const std::vector<NDArray>& in) {
        return invoke_first("_backward_take", in,
                            {{"axis", axis}, {"mode", std::string(mode)}, {"shape", whole_shape}});
      });
  }
}

}  // namespace
}  // namespace headrace
