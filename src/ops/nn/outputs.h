// Gradients of output layers.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/reduce/rows.h"

namespace headrace {

// The gradient of the cross entropy of a softmax and labels of classes.
struct LabelledSoftmax {
  double scale;               // factor
  bool divides_by_labels;     // by the number of labels that are not ignored, at least 1
  bool ignores;               // rows whose label is `ignored`, both truncated: they have no gradient
  double ignored, smoothing;  // probability that a label gives to the other classes
};

// inputs: result of the softmax, labels, of which those beyond the number of rows do not count
extern const KernelPartOf<void(KernelContext& context, const AxisSpace& space, const LabelledSoftmax& loss)>
    labelled_softmax_gradient;

// The gradient of a multi-class hinge loss, squared unless it is linear.
struct HingeLoss {
  double margin, factor;
  bool is_linear;
};

// inputs: scores, labels
extern const KernelPartOf<void(KernelContext& context, const AxisSpace& space, const HingeLoss& loss)> hinge_gradient;

}  // namespace headrace
