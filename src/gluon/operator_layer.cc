#include "headrace/gluon/operator_layer.hpp"

#include <algorithm>

#include "base/check.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/rule.h"

namespace headrace::gluon {

struct OperatorLayer::Call {
  const OpDef& op;
  AttrsPtr attrs;
  AttrsPtr activation;  // attributes of the operator Activation; null: none
};

namespace {

bool is_known(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) == shape.end(); }

const OpDef& activation_op() {
  static const OpDef& op = find_op("Activation");
  return op;
}

}  // namespace

OperatorLayer::OperatorLayer(std::string_view operation, const std::vector<Option>& options,
                             const std::string& activation) {
  const OpDef& op = find_op(operation);
  AttrsPtr attrs = attrs_from(op, options, 1), activation_attrs;
  if (!activation.empty()) activation_attrs = attrs_of(activation_op(), {{"act_type", activation}});
  call_ = std::make_shared<const Call>(Call{op, std::move(attrs), std::move(activation_attrs)});
}

void OperatorLayer::add_input(std::string name, Shape shape, init::Initializer own_init, std::string grad_req) {
  inputs_.push_back(add_parameter(std::move(name), std::move(shape), std::move(own_init), std::move(grad_req)));
}

NDArray OperatorLayer::forward(const NDArray& x) {
  check_present();
  complete_shapes(x.shape());
  std::vector<NDArray> tensors{x};
  for (const auto& input : inputs_) tensors.push_back(input->data(x.device()));
  NDArray y = invoke_all(call_->op, call_->attrs, tensors)[0];
  take_own_memory(y, tensors);
  return call_->activation ? call(activation_op(), call_->activation, {y}) : y;
}

void OperatorLayer::complete_shapes(const Shape& data) const {
  if (std::all_of(inputs_.begin(), inputs_.end(), [](const auto& input) { return is_known(input->shape()); })) return;
  std::vector<std::optional<Shape>> shapes{data};
  for (const auto& input : inputs_) {
    shapes.emplace_back(input->shape());
    std::replace(shapes.back()->begin(), shapes.back()->end(), int64_t{0}, int64_t{-1});
  }
  Completion completion(call_->op.name.c_str(), shapes);
  if (call_->op.complete) call_->op.complete(completion, *call_->attrs);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    check(completion.is_known(i + 1) && is_known(completion.shape(i + 1)), ErrorKind::kValue,
          "{}: data of shape {} do not tell the shape of parameter '{}'; say it when the layer is made (in_units, "
          "in_channels)",
          call_->op.name, to_string(data), inputs_[i]->name());
    inputs_[i]->complete_shape(completion.shape(i + 1));
  }
}

}  // namespace headrace::gluon
