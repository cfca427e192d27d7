// The objects that a single-shot detector has found.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

struct MultiBoxDetectionAttrs {
  bool clip = true;
  double threshold = 0.01;
  int64_t background_id = 0;
  double nms_threshold = 0.5;
  bool force_suppress = false;
  Doubles variances = {0.1, 0.1, 0.2, 0.2};
  int64_t nms_topk = -1;
  static constexpr auto kFields = fields(
      field(&MultiBoxDetectionAttrs::clip, "clip", "Whether boxes end where the image does."),
      field(&MultiBoxDetectionAttrs::threshold, "threshold", "Objects less likely than this are background."),
      field(&MultiBoxDetectionAttrs::background_id, "background_id", "Ignored, as MXNet does: class 0."),
      field(&MultiBoxDetectionAttrs::nms_threshold, "nms_threshold",
            "A box that shares so much with a better one goes; outside of (0, 1] none does."),
      field(&MultiBoxDetectionAttrs::force_suppress, "force_suppress", "Whether boxes of other classes count, too."),
      field(&MultiBoxDetectionAttrs::variances, "variances", "What places and sizes are multiplied with."),
      field(&MultiBoxDetectionAttrs::nms_topk, "nms_topk", "How many of the best are looked at; not positive: all."));
};

// inputs: probabilities (batch, classes, anchors), offsets (batch, 4 anchors) and anchors (1, anchors, 4); output: rows
// (batch, anchors, 6)
extern const KernelPartOf<void(KernelContext& context, const MultiBoxDetectionAttrs& attrs)> detect_objects;

}  // namespace headrace
