// Non-maximum suppression of boxes.
#pragma once

#include <string>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/detection/boxes.h"

namespace headrace {

struct NmsAttrs {
  double overlap_thresh = 0.5, valid_thresh = 0;
  int64_t topk = -1, coord_start = 2, score_index = 1, id_index = -1, background_id = -1;
  bool force_suppress = false;
  std::string in_format = "corner", out_format = "corner";
  static constexpr auto kFields = fields(
      field(&NmsAttrs::overlap_thresh, "overlap_thresh", "A box that shares more than this with a better one goes."),
      field(&NmsAttrs::valid_thresh, "valid_thresh", "Boxes with scores up to it go."),
      field(&NmsAttrs::topk, "topk", "How many of the best boxes are looked at; negative: all, 0: nothing is done."),
      field(&NmsAttrs::coord_start, "coord_start", "Where the four numbers of a box begin in its row."),
      field(&NmsAttrs::score_index, "score_index", "Where the score is."),
      field(&NmsAttrs::id_index, "id_index", "Where the class is; negative: there is none."),
      field(&NmsAttrs::background_id, "background_id", "Boxes of this class go; needs id_index."),
      field(&NmsAttrs::force_suppress, "force_suppress", "Whether boxes of other classes count, too."),
      field(&NmsAttrs::in_format, "in_format", kBoxFormatDoc).one_of("corner|center"),
      field(&NmsAttrs::out_format, "out_format", kBoxFormatDoc).one_of("corner|center"));
};

// input: boxes (..., boxes, numbers); outputs: the rows that stay, the best first, the others being -1, and the numbers
// of these rows among all, or -1
extern const KernelPartOf<void(KernelContext& context, const NmsAttrs& attrs)> suppress_boxes;
// inputs: rows and where they came from; output: zeros with the rows put back
extern const KernelPartOf<void(KernelContext& context)> put_rows_back;

}  // namespace headrace
