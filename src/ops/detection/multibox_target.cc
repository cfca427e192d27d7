// MultiBoxTarget: what a single-shot detector is to learn of the objects in its images.
#include "ops/detection/multibox_target.h"

#include "op/expect.h"
#include "op/rule.h"

namespace headrace {
namespace {

void infer_target(Infer& i, const TargetAttrs& a) {
  const Shape &anchor = i.shape(TargetAttrs::kAnchor), &label = i.shape(TargetAttrs::kLabel),
              &prediction = i.shape(TargetAttrs::kPrediction);
  for (size_t k : {TargetAttrs::kAnchor, TargetAttrs::kLabel, TargetAttrs::kPrediction}) expect_floats(i, k);
  i.require(anchor.size() == 3 && anchor[0] == 1 && anchor[1] > 0 && anchor[2] == 4, ErrorKind::kRuntime,
            "anchor must have shape (1, anchors, 4), got {}", to_string(anchor));
  i.require(label.size() == 3 && label[1] > 0 && label[2] >= 5, ErrorKind::kRuntime,
            "label must have shape (batch, objects, 5 or more), got {}", to_string(label));
  i.require(prediction.size() == 3 && prediction[0] == label[0] && prediction[2] == anchor[1], ErrorKind::kRuntime,
            "cls_pred must have shape ({}, classes, {}), got {}", label[0], anchor[1], to_string(prediction));
  i.require(i.dtype(TargetAttrs::kLabel) == i.dtype(TargetAttrs::kAnchor) &&
                i.dtype(TargetAttrs::kPrediction) == i.dtype(TargetAttrs::kAnchor),
            ErrorKind::kRuntime, "all inputs must hold one dtype, got {}, {} and {}", dtype_name(i.dtype(0)),
            dtype_name(i.dtype(1)), dtype_name(i.dtype(2)));
  i.require(a.variances.size() == 4, ErrorKind::kValue, "variances are four numbers, got {}", a.variances.size());
  i.require(!(a.negative_mining_ratio > 0) || (a.negative_mining_thresh > 0 && prediction[1] > 0), ErrorKind::kValue,
            "mining needs a positive negative_mining_thresh and classes in cls_pred");
  const int64_t anchors = anchor[1];
  for (int k = 0; k < 2; ++k) i.output({label[0], multiply_extents(anchors, 4, i.name())}, i.dtype(0));
  i.output({label[0], anchors}, i.dtype(0));
  i.cost(1000 + 20.0 * static_cast<double>(i.size(TargetAttrs::kLabel) / label[2]) * static_cast<double>(anchors));
}

}  // namespace

Operators multibox_target_operators() {
  return {general<TargetAttrs>(
      {.name = "_contrib_MultiBoxTarget",
       .aliases = {"_npx_multibox_target"},
       .python = {"nd.contrib.MultiBoxTarget", "npx.multibox_target"},
       .doc =
           "Targets for anchors (1, anchors, 4) from label (batch, objects, 5), a class and the corners of a box each, "
           "and cls_pred (batch, classes, anchors), which says which anchors of the background are hard. Gives offsets "
           "(batch, 4 anchors), masks of the same shape, 1 for anchors with an object, and classes (batch, anchors): "
           "0 the background, one more than the label's for objects. A label of -1 ends the list of an image. The "
           "gradient is zero. Raises MXNetError for other shapes, and, when a result is read, for labels that are -1 "
           "in part.",
       .inputs = {"anchor", "label", "cls_pred"},
       .outputs = 3,
       .array_names = {.outputs = {"loc_target", "loc_mask", "cls_target"}},
       .infer = infer_target,
       .kernel = [](KernelContext& c, const TargetAttrs& a) { write_targets(c, a); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({1, 4, 4}, 0, 1), uniform({2, 2, 5}, 0, 1), uniform({2, 3, 4})}),
                   Sample({uniform({1, 4, 4}, 0, 1), uniform({2, 2, 5}, 0, 1), uniform({2, 3, 4})},
                          make_attrs(TargetAttrs{.negative_mining_ratio = 1}))}})};
}

}  // namespace headrace
