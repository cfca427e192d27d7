// How much boxes overlap, and which rows of scores go with which columns.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/detection/boxes.h"

namespace headrace {

struct MatchingAttrs {
  bool is_ascend = false;
  double threshold = 0;
  int64_t topk = -1;
  static constexpr auto kFields =
      fields(field(&MatchingAttrs::is_ascend, "is_ascend", "Whether the smallest scores come first, not the largest."),
             field(&MatchingAttrs::threshold, "threshold", "Scores up to it (is_ascend: from it on) match nothing.")
                 .required(),
             field(&MatchingAttrs::topk, "topk", "Most matches, less one; not positive: no limit."));
};

// inputs: boxes and boxes; output: for each pair the shared part of what they cover
extern const KernelPartOf<void(KernelContext& context, BoxFormat format)> overlap_boxes;
// input: scores (..., rows, columns); outputs: the column of each row and the row of each column, or -1
extern const KernelPartOf<void(KernelContext& context, const MatchingAttrs& attrs)> match_scores;

}  // namespace headrace
