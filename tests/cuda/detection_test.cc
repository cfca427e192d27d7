// Detection of objects on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

// Of images that there are and that there are not, partly outside, turned inside out, and of one place.
NDArray regions(DType dtype) {
  return cast_to(array({0, 0, 0, 6, 5, 1, 2, 1, 11, 9, 1, -3, -4, 2, 2, -1, 0, 0, 3,  3,
                        2, 0, 0, 3, 3, 0, 5, 5, 2,  2, 1, 4,  4,  4, 4, 0,  2, 2, 90, 80},
                       {8, 5}),
                 dtype);
}

TEST(CudaDetectionSlow, LargestElementsOfRegionsAndTheirGradients) {
  for (const DType dtype : kRealDTypes) {
    const NDArray images = varied({2, 3, 7, 9}, dtype, 1);
    for (const size_t which : {0, 1})
      expect_as_on_host({images, regions(dtype)}, [which](const std::vector<NDArray>& in) {
        const OpDef& op = find_op("ROIPooling");
        return invoke_all(op, attrs_of(op, {{"pooled_size", Shape{3, 2}}, {"spatial_scale", 0.8}}), in)[which];
      });
    const NDArray record = cast_to(varied({200, 3, 2, 2}, DType::kInt8, 2), DType::kInt64);
    expect_as_on_host({varied({200, 3, 2, 2}, dtype, 3), record}, [](const std::vector<NDArray>& in) {
      return call("_backward_ROIPooling", {in[0], in[1]}, {{"shape", Shape{1, 1, 1, 3}}});
    });
  }
}

TEST(CudaDetectionSlow, RegionsOfNothing) {
  expect_as_on_host({varied({1, 2, 3, 3}, DType::kFloat32, 4), varied({0, 5}, DType::kFloat32, 5)},
                    [](const std::vector<NDArray>& in) {
                      return call("ROIPooling", {in[0], in[1]}, {{"pooled_size", Shape{2, 2}}, {"spatial_scale", 1.0}});
                    });
}

TEST(CudaDetectionSlow, BoxesAroundPlaces) {
  for (const DType dtype : kRealDTypes)
    for (const bool clip : {false, true})
      expect_as_on_host({varied({1, 2, 5, 7}, dtype, 6)}, [clip](const std::vector<NDArray>& in) {
        return call("_contrib_MultiBoxPrior", {in[0]},
                    {{"sizes", Doubles{0.75, 0.3}}, {"ratios", Doubles{1, 2, 0.5}}, {"clip", clip}});
      });
}

// Rows (class, score, box, one more number).
NDArray boxes(DType dtype, bool centers) {
  const NDArray at = call("abs", {varied({3, 300, 2}, DType::kFloat32, 7)});
  const NDArray size = call("_mul_scalar", {call("abs", {varied({3, 300, 2}, DType::kFloat32, 8)})}, {{"scalar", 0.4}});
  const NDArray kind = cast_to(varied({3, 300, 1}, DType::kInt8, 9), DType::kFloat32);
  const NDArray end = centers ? size : call("broadcast_add", {at, size});
  const NDArray score = varied({3, 300, 1}, DType::kFloat32, 10);
  return cast_to(call("Concat", {kind, score, at, end, score}, {{"dim", int64_t{2}}}), dtype);
}

TEST(CudaDetectionSlow, OfOverlappingBoxesTheBestStay) {
  for (const DType dtype : kRealDTypes)
    for (const char* format : {"corner", "center"})
      for (const int64_t topk : {-1, 0, 50})
        for (const size_t which : {0, 1})
          expect_as_on_host({boxes(dtype, format == std::string("center"))}, [&](const std::vector<NDArray>& in) {
            const OpDef& op = find_op("_contrib_box_nms");
            return invoke_all(op,
                              attrs_of(op, {{"overlap_thresh", 0.3},
                                            {"valid_thresh", 0.1},
                                            {"topk", topk},
                                            {"id_index", int64_t{0}},
                                            {"background_id", int64_t{1}},
                                            {"force_suppress", topk == 50},
                                            {"in_format", std::string(format)}}),
                              in)[which];
          });
}

TEST(CudaDetectionSlow, GradientsGoToTheBoxesThatStay) {
  const NDArray record = cast_to(array({2, 0, -1, 4, 2, 9}, {2, 3}), DType::kInt64);
  for (const DType dtype : kRealDTypes)
    expect_as_on_host({varied({2, 3, 6}, dtype, 11), record}, [](const std::vector<NDArray>& in) {
      return call("_backward_contrib_box_nms", {in[0], in[1]});
    });
}

// Corners of boxes of any place and size.
NDArray corners(const Shape& shape, uint64_t seed) {
  Shape half = shape;
  half.back() = 2;
  const NDArray low = call("abs", {varied(half, DType::kFloat32, seed)});
  const NDArray size = call("_mul_scalar", {call("abs", {varied(half, DType::kFloat32, seed + 1)})}, {{"scalar", 0.5}});
  return call("Concat", {low, call("broadcast_add", {low, size})}, {{"dim", static_cast<int64_t>(shape.size()) - 1}});
}

// Three images: of five objects, of two and of none.
NDArray objects_of_images() {
  const NDArray kinds = array({0, 2, 1, 1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1}, {3, 5, 1});
  const NDArray is_there = call("_greater_equal_scalar", {kinds}, {{"scalar", 0.0}});
  const NDArray none = call("_full", {}, {{"shape", Shape{3, 5, 4}}, {"value", -1.0}});
  const NDArray there = call("broadcast_mul", {is_there, call("ones_like", {none})});
  return call("Concat", {kinds, call("where", {there, corners({3, 5, 4}, 12), none})}, {{"dim", int64_t{2}}});
}

TEST(CudaDetectionSlow, TargetsOfAnchors) {
  for (const DType dtype : kRealDTypes)
    for (const double mining : {-1.0, 2.0})
      for (const size_t which : {0, 1, 2})
        expect_as_on_host({cast_to(corners({1, 400, 4}, 14), dtype), cast_to(objects_of_images(), dtype),
                           varied({3, 4, 400}, dtype, 16)},
                          [&](const std::vector<NDArray>& in) {
                            const OpDef& op = find_op("_contrib_MultiBoxTarget");
                            // Computed in float32, whose logarithms differ in the last place.
                            return cast_to(invoke_all(op,
                                                      attrs_of(op, {{"overlap_threshold", 0.4},
                                                                    {"negative_mining_ratio", mining},
                                                                    {"negative_mining_thresh", 0.3}}),
                                                      in)[which],
                                           DType::kFloat32);
                          });
}

TEST(CudaDetectionSlow, LabelsThatEndWrongRaise) {
  const NDArray anchors = as_in_context(corners({1, 4, 4}, 17), kGpu0);
  const NDArray wrong = as_in_context(array({-1, 0, 0, 1, 1}, {1, 1, 5}), kGpu0);
  const NDArray scores = as_in_context(varied({1, 2, 4}, DType::kFloat32, 18), kGpu0);
  const NDArray kinds = invoke_all(find_op("_contrib_MultiBoxTarget"), find_op("_contrib_MultiBoxTarget").default_attrs,
                                   std::vector<NDArray>{anchors, wrong, scores})[2];
  EXPECT_EQ(kind_of([&] { as_in_context(kinds, {}).wait_to_read(); }), ErrorKind::kRuntime);
}

TEST(CudaDetectionSlow, ObjectsOfAnchors) {
  const NDArray scores = call("abs", {varied({3, 4, 300}, DType::kFloat32, 19)});
  for (const DType dtype : kRealDTypes)
    for (const double overlapping : {0.0, 0.3})
      for (const int64_t topk : {-1, 40})
        expect_as_on_host(
            {cast_to(scores, dtype), varied({3, 1200}, dtype, 20), cast_to(corners({1, 300, 4}, 21), dtype)},
            [&](const std::vector<NDArray>& in) {
              return call("_contrib_MultiBoxDetection", {in[0], in[1], in[2]},
                          {{"threshold", 0.6},
                           {"nms_threshold", overlapping},
                           {"nms_topk", topk},
                           {"force_suppress", topk == 40}});
            });
}

// --- means of samples ------------------------------------------------------------------------------------------------

// Of images that there are and that there are not, partly and wholly outside, turned inside out, and of one place.
NDArray sampled_regions(DType dtype) {
  return cast_to(array({0,  0,  0, 6,    5,    1,     2,    1, 11, 9,    1,    -3,   -4, 2,  2,   -1,  0,  0, 3,
                        3,  2,  0, 0,    3,    3,     0,    5, 5,  2,    2,    1,    4,  4,  4,   4,   0,  2, 2,
                        90, 80, 1, 0.5F, 1.5F, 5.25F, 6.5F, 0, 60, 60.F, 70.F, 70.F, 0,  -9, -20, -5., -2.},
                       {11, 5}),
                 dtype);
}

TEST(CudaDetectionSlow, MeansOfSamplesOfRegionsAndTheirGradients) {
  for (const DType dtype : kRealDTypes)
    for (const bool own_channels : {false, true})
      for (const int64_t ratio : {-1, 1, 3}) {
        const std::initializer_list<NamedAttr> attrs = {{"pooled_size", Shape{3, 2}},
                                                        {"spatial_scale", 0.8},
                                                        {"sample_ratio", ratio},
                                                        {"position_sensitive", own_channels},
                                                        {"shape", Shape{2, 12, 7, 9}}};
        expect_as_on_host({varied({2, 12, 7, 9}, dtype, 30), sampled_regions(dtype)},
                          [&](const std::vector<NDArray>& in) {
                            return call("_contrib_ROIAlign", {in[0], in[1]}, attrs);
                          });
        expect_as_on_host({varied({11, own_channels ? 2 : 12, 3, 2}, dtype, 31), sampled_regions(dtype)},
                          [&](const std::vector<NDArray>& in) {
                            return call("_backward_ROIAlign", {in[0], in[1]}, attrs);
                          });
      }
}

// Sums in the order of the host have its bits; many regions share elements.
TEST(CudaDetectionSlow, GradientsOfManyRegionsHaveTheBitsOfTheHost) {
  const NDArray low = call("abs", {varied({200, 2}, DType::kFloat32, 32)});
  const NDArray size = call("abs", {varied({200, 2}, DType::kFloat32, 33)});
  const NDArray kind = call("abs", {cast_to(varied({200, 1}, DType::kBool, 34), DType::kFloat32)});
  const NDArray high = call("broadcast_add", {call("broadcast_add", {low, size}), size});
  const NDArray boxes = call("_mul_scalar", {call("Concat", {low, high}, {{"dim", int64_t{1}}})}, {{"scalar", 10.0}});
  const NDArray rois = call("Concat", {kind, boxes}, {{"dim", int64_t{1}}});
  const NDArray head = varied({200, 19, 7, 7}, DType::kFloat32, 35);
  for (const bool aligned : {false, true}) {
    const auto back = [&](Device device) {
      return bytes_of(
          as_in_context(call("_backward_ROIAlign", {as_in_context(head, device), as_in_context(rois, device)},
                             {{"pooled_size", Shape{7, 7}},
                              {"spatial_scale", 0.7},
                              {"sample_ratio", int64_t{2}},
                              {"aligned", aligned},
                              {"shape", Shape{2, 19, 24, 20}}}),
                        {}));
    };
    EXPECT_EQ(back(kGpu0), back({})) << aligned;
  }
}

TEST(CudaDetectionSlow, RegionsThatTakeTooManySamplesRaise) {
  const NDArray images = as_in_context(varied({1, 1, 4, 4}, DType::kFloat32, 36), kGpu0);
  const auto error_of = [&](const std::vector<float>& region, bool aligned) {
    const NDArray means = call("_contrib_ROIAlign", {images, as_in_context(array(region, {1, 5}), kGpu0)},
                               {{"pooled_size", Shape{1, 1}}, {"spatial_scale", 1.0}, {"aligned", aligned}});
    return kind_of([&] { as_in_context(means, {}).wait_to_read(); });
  };
  EXPECT_EQ(error_of({0, 0, 0, 1e9F, 1}, false), ErrorKind::kValue);
  EXPECT_EQ(error_of({0, 0, 0, 1e5F, 1e5F}, false), ErrorKind::kValue);
  EXPECT_EQ(error_of({0, 2, 2, 2, 3}, true), ErrorKind::kRuntime);
}

// --- pairs of boxes --------------------------------------------------------------------------------------------------

TEST(CudaDetectionSlow, SharedPartsOfBoxes) {
  for (const DType dtype : kRealDTypes)
    for (const char* format : {"corner", "center"})
      for (const Shape& shape : {Shape{70, 4}, Shape{2, 3, 4}, Shape{0, 4}})
        expect_as_on_host({cast_to(corners({5, 11, 4}, 37), dtype), cast_to(corners(shape, 38), dtype)},
                          [format](const std::vector<NDArray>& in) {
                            return call("_contrib_box_iou", {in[0], in[1]}, {{"format", std::string(format)}});
                          });
}

TEST(CudaDetectionSlow, RowsAndColumnsThatGoTogether) {
  for (const DType dtype : kRealDTypes)
    for (const Shape& shape : {Shape{3, 40, 60}, Shape{1, 1}, Shape{2, 900, 3}, Shape{2, 0, 3}})
      for (const bool ascending : {false, true})
        for (const int64_t topk : {-1, 5})
          for (const size_t which : {0, 1})
            expect_as_on_host({varied(shape, dtype, 39)}, [&](const std::vector<NDArray>& in) {
              const OpDef& op = find_op("_contrib_bipartite_matching");
              return invoke_all(op, attrs_of(op, {{"is_ascend", ascending}, {"threshold", 0.2}, {"topk", topk}}),
                                in)[which];
            });
}

// --- boxes as what networks learn ------------------------------------------------------------------------------------

TEST(CudaDetectionSlow, BoxesRelativeToAnchors) {
  const NDArray samples = varied({2, 300}, DType::kFloat32, 40);
  const NDArray matches = call("abs", {varied({2, 300}, DType::kInt32, 41)});
  const NDArray means = varied({4}, DType::kFloat32, 42), stds = array({0.1F, 0.2F, 0.5F, 1});
  for (const DType dtype : kRealDTypes)
    for (const size_t which : {0, 1})
      expect_as_on_host({cast_to(samples, dtype), cast_to(matches, dtype), cast_to(corners({2, 300, 4}, 43), dtype),
                         cast_to(corners({2, 4, 4}, 45), dtype), cast_to(means, dtype), cast_to(stds, dtype)},
                        [which](const std::vector<NDArray>& in) {
                          const OpDef& op = find_op("_contrib_box_encode");
                          return cast_to(invoke_all(op, op.default_attrs, in)[which], DType::kFloat16);
                        });
}

TEST(CudaDetectionSlow, AMatchThatThereIsNotRaises) {
  const std::vector<NDArray> inputs = {array({1, 0, 1}, {1, 3}),         array({0, 9, 2}, {1, 3}),
                                       corners({1, 3, 4}, 47),           corners({1, 2, 4}, 49),
                                       varied({4}, DType::kFloat32, 51), varied({4}, DType::kFloat32, 52)};
  std::vector<NDArray> there;
  for (const NDArray& input : inputs) there.push_back(as_in_context(input, kGpu0));
  const OpDef& op = find_op("_contrib_box_encode");
  const NDArray targets = invoke_all(op, op.default_attrs, there)[0];
  EXPECT_EQ(kind_of([&] { as_in_context(targets, {}).wait_to_read(); }), ErrorKind::kIndex);
}

TEST(CudaDetectionSlow, BoxesOfAnchors) {
  for (const DType dtype : kRealDTypes)
    for (const char* format : {"corner", "center"})
      for (const double clip : {-1.0, 0.3})
        expect_as_on_host({varied({3, 200, 4}, dtype, 53), cast_to(corners({1, 200, 4}, 54), dtype)},
                          [&](const std::vector<NDArray>& in) {
                            return call(
                                "_contrib_box_decode", {in[0], in[1]},
                                {{"std0", 0.1}, {"std3", 0.2}, {"clip", clip}, {"format", std::string(format)}});
                          });
}

}  // namespace
}  // namespace headrace
