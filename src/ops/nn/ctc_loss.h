// Connectionist temporal classification.
#pragma once

#include <string>

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

struct CtcAttrs {
  bool use_data_lengths = false, use_label_lengths = false;
  std::string blank_label = "first";
  static constexpr auto kFields = fields(
      field(&CtcAttrs::use_data_lengths, "use_data_lengths", "Whether data_lengths says how long sequences are."),
      field(&CtcAttrs::use_label_lengths, "use_label_lengths",
            "Whether label_lengths says how long labels are; else they end at the first 0 (blank first) or -1 "
            "(blank last)."),
      field(&CtcAttrs::blank_label, "blank_label", "The class that is the blank: 0 or the last.").one_of("first|last"));
};

// inputs: scores (time, batch, classes), labels (batch, width), lengths of sequences and of labels, where the
// attributes say that they are given; output: the loss of each sequence. A label that is no class raises ValueError.
extern const KernelPartOf<void(KernelContext& context, const CtcAttrs& attrs)> ctc_forward;
// inputs: the gradient of each loss, then those of ctc_forward; output: the gradient of the scores
extern const KernelPartOf<void(KernelContext& context, const CtcAttrs& attrs)> ctc_backward;

}  // namespace headrace
