#include "headrace/gluon/loss.hpp"

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace::gluon::loss {
namespace {

NDArray mean_per_sample(const NDArray& loss) { return call("mean", {loss}, {{"axis", Shape{0}}, {"exclude", true}}); }

// `label` in the shape of `pred`.
NDArray shaped_like(const NDArray& label, const NDArray& pred, const char* name) {
  check(label && pred, ErrorKind::kType, "{}: the {} is none; give an array", name, label ? "prediction" : "label");
  if (label.shape() == pred.shape()) return label;
  check(label.size() == pred.size(), ErrorKind::kRuntime,
        "{}: expected a label with the {} elements of the prediction {}, got {}", name, pred.size(),
        to_string(pred.shape()), to_string(label.shape()));
  return call("_reshape_to", {label}, {{"shape", pred.shape()}});
}

}  // namespace

NDArray SoftmaxCrossEntropyLoss::operator()(const NDArray& pred, const NDArray& label) const {
  NDArray scores = from_logits ? pred : call("log_softmax", {pred}, {{"axis", axis}});
  if (sparse_label) return mean_per_sample(-call("pick", {scores, label}, {{"axis", axis}, {"keepdims", true}}));
  NDArray weighted = scores * shaped_like(label, pred, "SoftmaxCrossEntropyLoss");
  return mean_per_sample(-call("sum", {weighted}, {{"axis", Shape{axis}}, {"keepdims", true}}));
}

NDArray L2Loss::operator()(const NDArray& pred, const NDArray& label) const {
  NDArray difference = shaped_like(label, pred, "L2Loss") - pred;
  return mean_per_sample(difference * difference * 0.5);
}

NDArray L1Loss::operator()(const NDArray& pred, const NDArray& label) const {
  return mean_per_sample(call("abs", {shaped_like(label, pred, "L1Loss") - pred}));
}

}  // namespace headrace::gluon::loss
