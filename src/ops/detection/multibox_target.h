// What a single-shot detector is to learn of the objects in its images.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

struct TargetAttrs {
  enum Input : size_t { kAnchor, kLabel, kPrediction };
  double overlap_threshold = 0.5, ignore_label = -1, negative_mining_ratio = -1, negative_mining_thresh = 0.5;
  int64_t minimum_negative_samples = 0;
  Doubles variances = {0.1, 0.1, 0.2, 0.2};
  static constexpr auto kFields = fields(
      field(&TargetAttrs::overlap_threshold, "overlap_threshold",
            "An anchor that shares more than this with an object has it; not positive: only the best one of each."),
      field(&TargetAttrs::ignore_label, "ignore_label", "Class of anchors that do not count."),
      field(&TargetAttrs::negative_mining_ratio, "negative_mining_ratio",
            "Most anchors of the background for each with an object; not positive: all that have none."),
      field(&TargetAttrs::negative_mining_thresh, "negative_mining_thresh",
            "Anchors that share so much with an object are not taken for the background."),
      field(&TargetAttrs::minimum_negative_samples, "minimum_negative_samples", "Ignored, as MXNet does."),
      field(&TargetAttrs::variances, "variances", "What places and sizes are divided by."));
};

// outputs: offsets and masks (batch, 4 anchors), and classes (batch, anchors). A list of labels that does not end as it
// should raises MXNetError.
extern const KernelPartOf<void(KernelContext& context, const TargetAttrs& attrs)> write_targets;

}  // namespace headrace
