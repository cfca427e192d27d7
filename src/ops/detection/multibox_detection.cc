// MultiBoxDetection: the objects that a single-shot detector has found.
#include "ops/detection/multibox_detection.h"

#include "op/expect.h"
#include "op/rule.h"

namespace headrace {
namespace {

void infer_detection(Infer& i, const MultiBoxDetectionAttrs& a) {
  const Shape &probability = i.shape(0), &place = i.shape(1), &anchor = i.shape(2);
  for (size_t k : {0, 1, 2}) {
    expect_floats(i, k);
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime, "all inputs must hold one dtype, got {} and {}",
              dtype_name(i.dtype(0)), dtype_name(i.dtype(k)));
  }
  i.require(probability.size() == 3 && probability[2] > 0, ErrorKind::kRuntime,
            "cls_prob must have shape (batch, classes, anchors), got {}", to_string(probability));
  const int64_t count = probability[2];
  i.require(anchor.size() == 3 && anchor[0] >= 1 && anchor[1] == count && anchor[2] == 4, ErrorKind::kRuntime,
            "anchor must have shape (1, {}, 4), got {}", count, to_string(anchor));
  i.require(place == Shape{probability[0], multiply_extents(count, 4, i.name())}, ErrorKind::kRuntime,
            "loc_pred must have shape ({}, {}), got {}", probability[0], 4 * count, to_string(place));
  i.require(a.variances.size() == 4, ErrorKind::kValue, "variances are four numbers, got {}", a.variances.size());
  i.output({probability[0], count, 6}, i.dtype(0));
  i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
}

}  // namespace

Operators multibox_detection_operators() {
  return {general<MultiBoxDetectionAttrs>(
      {.name = "_contrib_MultiBoxDetection",
       .aliases = {"_npx_multibox_detection"},
       .python = {"nd.contrib.MultiBoxDetection", "npx.multibox_detection"},
       .doc =
           "Objects from the probabilities of classes (batch, classes, anchors), class 0 being the background, offsets "
           "(batch, 4 anchors) and anchors (1, anchors, 4): rows [class, probability, xmin, ymin, xmax, ymax] of shape "
           "(batch, anchors, 6), the likeliest first, classes counted without the background. Rows of class -1 are no "
           "objects. The gradient is zero. Raises MXNetError for other shapes.",
       .inputs = {"cls_prob", "loc_pred", "anchor"},
       .infer = infer_detection,
       .kernel = [](KernelContext& c, const MultiBoxDetectionAttrs& a) { detect_objects(c, a); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4}, 0, 1), uniform({2, 16}), uniform({1, 4, 4}, 0, 1)}),
                   Sample({uniform({2, 3, 4}, 0, 1), uniform({2, 16}), uniform({1, 4, 4}, 0, 1)},
                          make_attrs(MultiBoxDetectionAttrs{.clip = false, .nms_topk = 2}))}})};
}

}  // namespace headrace
