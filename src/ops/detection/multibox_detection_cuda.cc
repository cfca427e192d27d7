#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/detection/multibox_detection.cuh"
#include "ops/detection/multibox_detection.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

void detect_objects_cuda(KernelContext& c, const MultiBoxDetectionAttrs& attrs) {
  const Tensor& probabilities = c.input(0);
  const int64_t images = probabilities.shape[0], classes = probabilities.shape[1], count = probabilities.shape[2];
  const int64_t all = images * count;
  if (all == 0) return;
  const DType real = probabilities.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const bool suppresses = attrs.nms_threshold > 0 && attrs.nms_threshold <= 1;
  const Shape shape{images, count};
  const Strides strides = contiguous_strides(shape);
  const auto of_anchors = [&](DType dtype) {
    return Tensor{c.workspace(static_cast<size_t>(all) * item_size(dtype)), dtype, shape, strides, all};
  };
  const Tensor scores = of_anchors(real), is_background = of_anchors(DType::kUint8), given = of_anchors(DType::kInt64),
               by_score = of_anchors(DType::kInt64);
  device::DetectionArguments arguments{
      .probabilities = probabilities.data,
      .places = c.input(1).data,
      .anchors = c.input(2).data,
      .to = c.output(0).data,
      .boxes = c.workspace(static_cast<size_t>(4 * all) * item_size(real)),
      .scores = scores.data,
      .kinds = c.workspace<int32_t>(all),
      .is_background = is_background.as<uint8_t>(),
      .given = given.as<int64_t>(),
      .by_score = suppresses ? by_score.as<int64_t>() : nullptr,
      .gone = c.workspace<uint8_t>(all),
      .images = images,
      .count = count,
      .classes = classes,
      .most = suppresses && attrs.nms_topk > 0 ? std::min(attrs.nms_topk, count) : count,
      .clip = attrs.clip,
      .force_suppress = attrs.force_suppress,
      .threshold = static_cast<float>(attrs.threshold),
      .nms_threshold = static_cast<float>(attrs.nms_threshold),
      .variances = {},
  };
  for (size_t k = 0; k < 4; ++k) arguments.variances[k] = static_cast<float>(attrs.variances[k]);
  const auto launch = [&](const char* function, int64_t blocks) {
    launch_cuda({"ops/detection/multibox_detection.cuh",
                 fmt::format("{}<{}, {}>", function, element_name(real), element_name(probabilities.dtype)),
                 "DetectionArguments"},
                {blocks_for(blocks), device::kDetectionThreads}, arguments);
  };
  launch("decode_anchors", (all + device::kDetectionThreads - 1) / device::kDetectionThreads);
  select_first(c, is_background, {images, count, 1}, count, true, nullptr, &given);
  if (suppresses) select_first(c, scores, {images, count, 1}, count, false, nullptr, &by_score);
  launch("write_detections", images);
}

}  // namespace

void add_multibox_detection_cuda(KernelTable& table) {
  table.set_part(detect_objects, detect_objects_cuda);
  table.set_own_kernels({"_contrib_MultiBoxDetection"});
}

}  // namespace headrace
