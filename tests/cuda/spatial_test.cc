// Images seen at other places on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

// Places inside and outside, one of them none.
NDArray places(const Shape& shape, DType dtype) {
  const NDArray wide = call("_mul_scalar", {varied(shape, DType::kFloat32, 60)}, {{"scalar", 1.3}});
  return cast_to(wide, dtype);
}

TEST(CudaSpatialSlow, ImagesSeenAtPlaces) {
  for (const DType dtype : kRealDTypes)
    for (const Shape& shape : {Shape{2, 3, 7, 9}, Shape{1, 2, 1, 5}, Shape{2, 0, 3, 3}})
      expect_as_on_host({varied(shape, dtype, 61), places({shape[0], 2, 20, 15}, dtype)},
                        [](const std::vector<NDArray>& in) {
                          return call("BilinearSampler", {in[0], in[1]});
                        });
  expect_as_on_host({varied({1, 2, 3, 3}, DType::kFloat32, 62), array({0, kNan, 1, -1}, {1, 2, 1, 2})},
                    [](const std::vector<NDArray>& in) {
                      return call("BilinearSampler", {in[0], in[1]});
                    });
}

TEST(CudaSpatialSlow, GradientsOfImagesAndPlaces) {
  for (const DType dtype : kRealDTypes)
    for (const Shape& shape : {Shape{2, 3, 7, 9}, Shape{1, 2, 1, 5}, Shape{3, 1, 2, 2}})
      for (const size_t which : {0, 1})
        expect_as_on_host({varied({shape[0], shape[1], 20, 15}, dtype, 63), varied(shape, dtype, 64),
                           places({shape[0], 2, 20, 15}, dtype)},
                          [which](const std::vector<NDArray>& in) {
                            const OpDef& op = find_op("_backward_BilinearSampler");
                            return invoke_all(op, op.default_attrs, in)[which];
                          });
}

// Sums are in the order of the host.
TEST(CudaSpatialSlow, GradientsOfImagesHaveTheBitsOfTheHost) {
  const OpDef& op = find_op("_backward_BilinearSampler");
  const std::vector<NDArray> inputs = {varied({2, 3, 60, 50}, DType::kFloat32, 65),
                                       varied({2, 3, 5, 6}, DType::kFloat32, 66),
                                       places({2, 2, 60, 50}, DType::kFloat32)};
  std::vector<NDArray> moved;
  for (const NDArray& input : inputs) moved.push_back(as_in_context(input, kGpu0));
  EXPECT_EQ(bytes_of(as_in_context(invoke_all(op, op.default_attrs, moved)[0], {})),
            bytes_of(invoke_all(op, op.default_attrs, inputs)[0]));
}

TEST(CudaSpatialSlow, GridsOfPlacesAndTheirGradients) {
  for (const DType dtype : kRealDTypes) {
    for (const Shape& target : {Shape{30, 40}, Shape{1, 3}, Shape{2, 2}}) {
      expect_as_on_host({varied({3, 6}, dtype, 67)}, [&](const std::vector<NDArray>& in) {
        return call("GridGenerator", {in[0]}, {{"transform_type", std::string("affine")}, {"target_shape", target}});
      });
      if (target[0] == 1) continue;  // whose step is infinite
      expect_as_on_host({varied({3, 2, target[0], target[1]}, dtype, 68)}, [&](const std::vector<NDArray>& in) {
        return cast_to(call("_backward_GridGenerator", {in[0]},
                            {{"transform_type", std::string("affine")}, {"target_shape", target}}),
                       DType::kFloat16);
      });
    }
    for (const char* op : {"GridGenerator", "_backward_GridGenerator"})
      expect_as_on_host({varied({3, 2, 9, 11}, dtype, 69)}, [op](const std::vector<NDArray>& in) {
        return call(op, {in[0]}, {{"transform_type", std::string("warp")}});
      });
  }
}

TEST(CudaSpatialSlow, WindowsAsColumnsAndBack) {
  for (const DType dtype : kRealDTypes) {
    const std::initializer_list<NamedAttr> window = {
        {"kernel", Shape{3, 2}}, {"stride", Shape{1, 2}}, {"dilate", Shape{1, 2}}, {"pad", Shape{2, 1}}};
    expect_as_on_host({varied({2, 3, 14, 15}, dtype, 70)},
                      [&](const std::vector<NDArray>& in) { return call("im2col", {in[0]}, window); });
    expect_as_on_host({varied({2, 18, 16 * 8}, dtype, 71)}, [](const std::vector<NDArray>& in) {
      return call("col2im", {in[0]},
                  {{"output_size", Shape{14, 15}},
                   {"kernel", Shape{3, 2}},
                   {"stride", Shape{1, 2}},
                   {"dilate", Shape{1, 2}},
                   {"pad", Shape{2, 1}}});
    });
  }
  for (const Shape& shape : {Shape{2, 2, 50}, Shape{0, 2, 9}, Shape{1, 2, 4, 3, 5}})
    expect_as_on_host({varied(shape, DType::kFloat32, 72)}, [&](const std::vector<NDArray>& in) {
      return call("im2col", {in[0]}, {{"kernel", Shape(shape.size() - 2, 2)}});
    });
}

constexpr int64_t kElements = 6;  // of the windows below

std::vector<NDArray> deformed_inputs(DType dtype, bool has_mask) {
  std::vector<NDArray> inputs = {
      varied({2, 4, 13, 15}, dtype, 80),
      call("_mul_scalar", {varied({2, 4 * kElements, 13, 8}, dtype, 81)}, {{"scalar", 2.5}})};
  if (has_mask) inputs.push_back(varied({2, 2 * kElements, 13, 8}, dtype, 82));
  return inputs;
}

AttrsPtr deformed_attrs(const OpDef& op) {
  return attrs_of(op, {{"kernel", Shape{3, 2}},
                       {"stride", Shape{1, 2}},
                       {"dilate", Shape{1, 2}},
                       {"pad", Shape{1, 1}},
                       {"groups", int64_t{2}}});
}

TEST(CudaSpatialSlow, WindowsWhoseElementsAreMoved) {
  for (const DType dtype : kRealDTypes)
    for (const bool has_mask : {false, true}) {
      expect_as_on_host(deformed_inputs(dtype, has_mask), [](const std::vector<NDArray>& in) {
        const OpDef& op = find_op("_deformable_columns");
        return invoke_all(op, deformed_attrs(op), in)[0];
      });
      std::vector<NDArray> back = deformed_inputs(dtype, has_mask);
      back.insert(back.begin(), varied({2, 4 * kElements, 13 * 8}, dtype, 83));
      for (size_t which = 0; which < back.size() - 1; ++which)
        expect_as_on_host(back, [&](const std::vector<NDArray>& in) {
          const OpDef& op = find_op(has_mask ? "_backward_modulated_columns" : "_backward_deformable_columns");
          return invoke_all(op, deformed_attrs(op), in)[which];
        });
    }
}

}  // namespace
}  // namespace headrace
