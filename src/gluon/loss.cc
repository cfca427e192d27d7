#include "headrace/gluon/loss.hpp"

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace::gluon::loss {
namespace {

NDArray weighted(NDArray loss, double weight, const NDArray& sample_weight) {
  if (sample_weight) loss = loss * sample_weight;
  return weight == 1 ? loss : loss * weight;
}

NDArray mean_per_sample(const NDArray& loss, int64_t batch_axis) {
  return call("mean", {loss}, {{"axis", Shape{batch_axis}}, {"exclude", true}});
}

NDArray sum_per_sample(const NDArray& loss, int64_t batch_axis) {
  return call("sum", {loss}, {{"axis", Shape{batch_axis}}, {"exclude", true}});
}

// `label` in the shape of `pred`.
NDArray shaped_like(const NDArray& label, const NDArray& pred, const char* name) {
  check(label && pred, ErrorKind::kType, "{}: the {} is none; give an array", name, label ? "prediction" : "label");
  if (label.shape() == pred.shape()) return label;
  check(label.size() == pred.size(), ErrorKind::kRuntime,
        "{}: expected a label with the {} elements of the prediction {}, got {}", name, pred.size(),
        to_string(pred.shape()), to_string(label.shape()));
  return call("_reshape_to", {label}, {{"shape", pred.shape()}});
}

NDArray square(const NDArray& x) { return call("square", {x}); }
NDArray abs(const NDArray& x) { return call("abs", {x}); }
NDArray log(const NDArray& x) { return call("log", {x}); }
NDArray relu(const NDArray& x) { return call("relu", {x}); }
NDArray softplus(const NDArray& x) { return call("Activation", {x}, {{"act_type", "softrelu"}}); }
NDArray zeros(const NDArray& x) { return call("zeros_like", {x}); }
NDArray where(const NDArray& condition, const NDArray& x, const NDArray& y) { return call("where", {condition, x, y}); }
NDArray is_equal(const NDArray& x, double number) { return call("_equal_scalar", {x}, {{"scalar", number}}); }
NDArray is_greater(const NDArray& x, double number) { return call("_greater_scalar", {x}, {{"scalar", number}}); }
NDArray log_softmax(const NDArray& x, int64_t axis) { return call("log_softmax", {x}, {{"axis", axis}}); }

// log(1 + exp(pred)) - pred label, which does not overflow.
NDArray logistic(const NDArray& pred, const NDArray& label) { return relu(pred) - pred * label + softplus(-abs(pred)); }

NDArray binary_entropy_of_scores(const NDArray& pred, const NDArray& label, const NDArray& pos_weight) {
  if (!pos_weight) return logistic(pred, label);
  const NDArray scale = label * (pos_weight - 1) + 1;
  return pred - pred * label + scale * (softplus(-abs(pred)) + relu(-pred));
}

NDArray binary_entropy_of_probabilities(const NDArray& pred, const NDArray& label, const NDArray& pos_weight) {
  constexpr double kTiny = 1e-12;
  NDArray positive = log(pred + kTiny) * label;
  if (pos_weight) positive = positive * pos_weight;
  return -(positive + log(1.0 - pred + kTiny) * (1.0 - label));
}

NDArray hinge(const NDArray& pred, const NDArray& label, double margin, const char* name) {
  return relu(margin - pred * shaped_like(label, pred, name));
}

NDArray sum_of_last(const NDArray& x) { return call("sum", {x}, {{"axis", Shape{-1}}}); }

NDArray cosines(const NDArray& x, const NDArray& y) {
  const auto norm = [](const NDArray& vectors) { return call("sqrt", {sum_of_last(square(vectors))}); };
  return sum_of_last(x * y) / call("_maximum_scalar", {norm(x) * norm(y)}, {{"scalar", 1e-12}});
}

NDArray column(const NDArray& x) { return call("Reshape", {x}, {{"shape", Shape{-1, 1}}}); }

NDArray swapped(const NDArray& x) { return call("SwapAxis", {x}, {{"dim1", int64_t{0}}, {"dim2", int64_t{1}}}); }

}  // namespace

NDArray SoftmaxCrossEntropyLoss::operator()(const NDArray& pred, const NDArray& label,
                                            const NDArray& sample_weight) const {
  const NDArray scores = from_logits ? pred : log_softmax(pred, axis);
  const NDArray loss = sparse_label ? -call("pick", {scores, label}, {{"axis", axis}, {"keepdims", true}})
                                    : -call("sum", {scores * shaped_like(label, pred, "SoftmaxCrossEntropyLoss")},
                                            {{"axis", Shape{axis}}, {"keepdims", true}});
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray SigmoidBinaryCrossEntropyLoss::operator()(const NDArray& pred, const NDArray& label,
                                                  const NDArray& sample_weight, const NDArray& pos_weight) const {
  const NDArray shaped = shaped_like(label, pred, "SigmoidBinaryCrossEntropyLoss");
  const NDArray loss = from_sigmoid ? binary_entropy_of_probabilities(pred, shaped, pos_weight)
                                    : binary_entropy_of_scores(pred, shaped, pos_weight);
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray L2Loss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  const NDArray loss = square(shaped_like(label, pred, "L2Loss") - pred);
  return mean_per_sample(weighted(loss, weight / 2, sample_weight), batch_axis);
}

NDArray L1Loss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  const NDArray loss = abs(shaped_like(label, pred, "L1Loss") - pred);
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray KLDivLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  const NDArray target = shaped_like(label, pred, "KLDivLoss");
  const NDArray loss = target * (log(target + 1e-12) - (from_logits ? pred : log_softmax(pred, axis)));
  return sum_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray HuberLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  const NDArray distance = abs(shaped_like(label, pred, "HuberLoss") - pred);
  const NDArray loss = where(is_greater(distance, rho), distance - 0.5 * rho, square(distance) * (0.5 / rho));
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray HingeLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  return mean_per_sample(weighted(hinge(pred, label, margin, "HingeLoss"), weight, sample_weight), batch_axis);
}

NDArray SquaredHingeLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  const NDArray loss = square(hinge(pred, label, margin, "SquaredHingeLoss"));
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray LogisticLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight) const {
  check(label_format == "signed" || label_format == "binary", ErrorKind::kValue,
        "LogisticLoss: label_format must be signed or binary, got {}", label_format);
  const NDArray shaped = shaped_like(label, pred, "LogisticLoss");
  const NDArray loss = logistic(pred, label_format == "signed" ? (shaped + 1.0) / 2.0 : shaped);
  return mean_per_sample(weighted(loss, weight, sample_weight), batch_axis);
}

NDArray TripletLoss::operator()(const NDArray& pred, const NDArray& positive, const NDArray& negative,
                                const NDArray& sample_weight) const {
  const auto distances = [&](const NDArray& other) { return square(shaped_like(other, pred, "TripletLoss") - pred); };
  const NDArray loss = relu(sum_per_sample(distances(positive) - distances(negative), batch_axis) + margin);
  return weighted(loss, weight, sample_weight);
}

NDArray PoissonNLLLoss::operator()(const NDArray& pred, const NDArray& target, const NDArray& sample_weight) const {
  const NDArray counts = shaped_like(target, pred, "PoissonNLLLoss");
  NDArray loss = from_logits ? call("exp", {pred}) - counts * pred : pred - counts * log(pred + 1e-8);
  if (compute_full) {
    const NDArray stirling = counts * log(counts) - counts + log(counts * (2 * std::numbers::pi)) * 0.5;
    loss = loss + where(is_greater(counts, 1), stirling, zeros(counts));
  }
  return call("mean", {weighted(loss, weight, sample_weight)});
}

NDArray CosineEmbeddingLoss::operator()(const NDArray& input1, const NDArray& input2, const NDArray& label,
                                        const NDArray& sample_weight) const {
  const NDArray cosine = column(cosines(shaped_like(input1, input2, "CosineEmbeddingLoss"), input2));
  const NDArray kinds = shaped_like(label, cosine, "CosineEmbeddingLoss");
  const NDArray apart = where(is_equal(kinds, -1), relu(cosine - margin), zeros(cosine));
  return weighted(where(is_equal(kinds, 1), 1.0 - cosine, apart), weight, sample_weight);
}

NDArray CTCLoss::operator()(const NDArray& pred, const NDArray& label, const NDArray& pred_lengths,
                            const NDArray& label_lengths, const NDArray& sample_weight) const {
  check(pred && label, ErrorKind::kType, "CTCLoss: the {} is none; give an array", pred ? "label" : "prediction");
  check(layout == "NTC" || layout == "TNC", ErrorKind::kValue, "CTCLoss: layout must be NTC or TNC, got {}", layout);
  check(label_layout == "NT" || label_layout == "TN", ErrorKind::kValue,
        "CTCLoss: label_layout must be NT or TN, got {}", label_layout);
  std::vector<NDArray> inputs{layout == "NTC" ? swapped(pred) : pred, label_layout == "TN" ? swapped(label) : label};
  if (pred_lengths) inputs.push_back(pred_lengths);
  if (label_lengths) inputs.push_back(label_lengths);
  const OpDef& op = find_op("CTCLoss");
  const AttrsPtr attrs = attrs_of(op, {{"use_data_lengths", static_cast<bool>(pred_lengths)},
                                       {"use_label_lengths", static_cast<bool>(label_lengths)},
                                       {"blank_label", "last"}});
  return weighted(invoke_all(op, attrs, inputs)[0], weight, sample_weight);
}

NDArray SDMLLoss::operator()(const NDArray& x1, const NDArray& x2) const {
  const NDArray other = shaped_like(x2, x1, "SDMLLoss");
  check(x1.ndim() == 2, ErrorKind::kValue, "SDMLLoss: expected arrays of shape (n, d), got {}", to_string(x1.shape()));
  const auto with_axis = [](const NDArray& x, int64_t axis) { return call("expand_dims", {x}, {{"axis", axis}}); };
  const NDArray apart = square(with_axis(x1, 1) - with_axis(other, 0));
  const NDArray logs = log_softmax(-call("sum", {apart}, {{"axis", Shape{2}}}), 1);
  const NDArray own = call("pick", {logs, call("_contrib_arange_like", {logs}, {{"axis", int64_t{0}}})}, {{"axis", 1}});
  const auto others = static_cast<double>(x1.shape()[0] - 1);
  const double right = 1 - smoothing_parameter, wrong = smoothing_parameter / others;
  const NDArray cross = own * right + (sum_of_last(logs) - own) * wrong;
  const double negentropy = right * std::log(right + 1e-12) + smoothing_parameter * std::log(wrong + 1e-12);
  return weighted(negentropy - cross, weight, {});
}

}  // namespace headrace::gluon::loss
