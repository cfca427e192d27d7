#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/detection/multibox_target.cuh"
#include "ops/detection/multibox_target.h"
#include "ops/sort/ordering.h"

namespace headrace {
namespace {

// The work fails when the stream has come to it and a list of labels does not end as it should.
void raise_wrong_end(KernelContext& c, const int64_t* wrong, int64_t images) {
  read_on_host(wrong, static_cast<size_t>(images) * sizeof(int64_t),
               [images, name = std::string(c.name())](const void* bytes) {
                 const auto* const found = static_cast<const int64_t*>(bytes);
                 check(std::count(found, found + images, 0) == images, ErrorKind::kRuntime,
                       "{}: a label of class -1 ends the list, so its coordinates must be -1, too", name);
               });
}

void write_targets_cuda(KernelContext& c, const TargetAttrs& attrs) {
  const Tensor &anchors = c.input(TargetAttrs::kAnchor), &labels = c.input(TargetAttrs::kLabel),
               &predictions = c.input(TargetAttrs::kPrediction);
  const int64_t images = labels.shape[0], count = anchors.shape[1], all = images * count;
  if (all == 0) return;
  const Shape shape{images, count};
  const Strides strides = contiguous_strides(shape);
  const bool mines = attrs.negative_mining_ratio > 0;
  const Tensor hardness{mines ? c.workspace<float>(all) : nullptr, DType::kFloat32, shape, strides, all};
  const Tensor order{mines ? c.workspace<int64_t>(all) : nullptr, DType::kInt64, shape, strides, all};
  device::TargetArguments arguments{.anchors = anchors.data,
                                    .labels = labels.data,
                                    .predictions = predictions.data,
                                    .boxes = c.output(0).data,
                                    .masks = c.output(1).data,
                                    .kinds = c.output(2).data,
                                    .shares = c.workspace<float>(all * labels.shape[1]),
                                    .best = c.workspace<int64_t>(all),
                                    .taken = c.workspace<uint8_t>(images * labels.shape[1]),
                                    .nearest = c.workspace<device::SharedMost>(images * labels.shape[1]),
                                    .hardness = hardness.as<float>(),
                                    .order = order.as<int64_t>(),
                                    .wrong = c.workspace<int64_t>(images),
                                    .images = images,
                                    .anchors_of_image = count,
                                    .most_objects = labels.shape[1],
                                    .width = labels.shape[2],
                                    .classes = predictions.shape[1],
                                    .threshold = attrs.overlap_threshold,
                                    .ignore_label = attrs.ignore_label,
                                    .mining_ratio = attrs.negative_mining_ratio,
                                    .mining_threshold = attrs.negative_mining_thresh,
                                    .variances = {}};
  for (size_t k = 0; k < 4; ++k) arguments.variances[k] = static_cast<float>(attrs.variances[k]);
  const auto launch = [&](const char* function) {
    launch_cuda({"ops/detection/multibox_target.cuh",
                 fmt::format("{}<{}, {}>", function, compute_name(anchors.dtype), element_name(anchors.dtype)),
                 "TargetArguments"},
                {blocks_for(images), device::kTargetThreads}, arguments);
  };
  launch("match_anchors");
  raise_wrong_end(c, arguments.wrong, images);
  if (mines) select_first(c, hardness, {images, count, 1}, count, true, nullptr, &order);
  launch("write_targets");
}

}  // namespace

void add_multibox_target_cuda(KernelTable& table) {
  table.set_part(write_targets, write_targets_cuda);
  table.set_own_kernels({"_contrib_MultiBoxTarget"});
}

}  // namespace headrace
