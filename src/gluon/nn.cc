#include "headrace/gluon/nn.hpp"

#include "base/check.h"
#include "op/invoke.h"

namespace headrace::gluon::nn {
namespace {

AttrsPtr activation_attrs(const std::string& activation) {
  return attrs_of(find_op("Activation"), {{"act_type", activation}});
}

NDArray activated(const NDArray& x, const std::string& activation) {
  static const OpDef& op = find_op("Activation");
  return call(op, activation_attrs(activation), {x});
}

}  // namespace

NDArray Sequential::forward(const NDArray& x) {
  NDArray y = x;
  for (const auto& [name, child] : children()) y = (*child)(y);
  return y;
}

Dense::Dense(int64_t units, DenseOptions options) : units_(units), options_(std::move(options)) {
  check(units > 0, ErrorKind::kValue, "Dense: units must be positive, got {}", units);
  if (!options_.activation.empty()) activation_attrs(options_.activation);  // raises for unknown words
  weight_ = add_parameter("weight", {units, options_.in_units});
  if (options_.use_bias) bias_ = add_parameter("bias", {units}, init::Zero{});
}

NDArray Dense::forward(const NDArray& x) {
  static const OpDef& op = find_op("FullyConnected");
  if (weight_->shape()[1] == 0) {
    check(x.ndim() > 0, ErrorKind::kValue, "Dense: data needs at least one axis, got shape ()");
    int64_t rows = x.shape()[0], columns = x.shape().back();
    if (options_.flatten && rows > 0) columns = x.size() / rows;
    check(columns > 0, ErrorKind::kValue, "Dense: data of shape {} do not tell the number of inputs; give in_units",
          to_string(x.shape()));
    weight_->complete_shape({units_, columns});
  }
  AttrsPtr attrs =
      attrs_of(op, {{"num_hidden", units_}, {"no_bias", !options_.use_bias}, {"flatten", options_.flatten}});
  // data() may raise: before the lists, because g++ 12 mistreats a throw inside a list that is an arm of `?:`.
  NDArray weight = weight_->data(), bias = bias_ ? bias_->data() : NDArray(), y;
  if (bias)
    y = call(op, attrs, {x, weight, bias});
  else
    y = call(op, attrs, {x, weight});
  return options_.activation.empty() ? y : activated(y, options_.activation);
}

Activation::Activation(std::string activation) : activation_(std::move(activation)) { activation_attrs(activation_); }

NDArray Activation::forward(const NDArray& x) { return activated(x, activation_); }

NDArray Flatten::forward(const NDArray& x) { return call("Flatten", {x}); }

LayerNorm::LayerNorm(int64_t axis, double epsilon)
    : axis_(axis),
      epsilon_(epsilon),
      gamma_(add_parameter("gamma", {0}, init::One{})),
      beta_(add_parameter("beta", {0}, init::Zero{})) {}

NDArray LayerNorm::forward(const NDArray& x) {
  int64_t axis = normalize_axis(axis_, static_cast<int64_t>(x.ndim()), "LayerNorm");
  for (const auto& parameter : {gamma_, beta_}) parameter->complete_shape({x.shape()[static_cast<size_t>(axis)]});
  return call("LayerNorm", {x, gamma_->data(), beta_->data()}, {{"axis", axis_}, {"eps", epsilon_}});
}

NDArray Dropout::forward(const NDArray& x) { return call("Dropout", {x}, {{"p", rate_}}); }

}  // namespace headrace::gluon::nn
