#include "headrace/gluon/trainer.hpp"

#include <cmath>

#include "base/check.h"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace headrace::gluon {
namespace {

OptimizerParams default_settings(bool is_adam) {
  OptimizerParams settings{{"wd", 0}, {"clip_gradient", -1}};
  if (is_adam)
    settings.merge(OptimizerParams{{"learning_rate", 0.001}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}});
  else
    settings.merge(OptimizerParams{{"learning_rate", 0.01}, {"momentum", 0}});
  return settings;
}

// Attributes of an update: the settings that the operator knows, its rate and the scale of the gradient.
AttrsPtr update_attrs(const OpDef& op, const OptimizerParams& settings, double rate, double rescale) {
  IntrusivePtr<Attrs> attrs = op.make_attrs();
  auto set = [&](const FieldInfo* field, double value) {
    if (field) field->set(attrs->mutable_data(), value, *field, op.name.c_str());
  };
  for (const auto& [name, value] : settings) set(op.schema->find(name), value);
  set(op.schema->find("lr"), rate);
  set(op.schema->find("rescale_grad"), rescale);
  return AttrsPtr(attrs.get());
}

}  // namespace

Trainer::Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings)
    : is_adam_(optimizer == "adam"), settings_(default_settings(is_adam_)) {
  check(is_adam_ || optimizer == "sgd", ErrorKind::kValue, "Trainer: optimizer must be 'sgd' or 'adam', got '{}'",
        optimizer);
  for (const auto& [name, value] : settings) {
    check(settings_.contains(name), ErrorKind::kType, "Trainer: optimizer '{}' has no setting '{}'", optimizer, name);
    settings_[name] = value;
  }
  for (const auto& [name, parameter] : parameters) slots_.push_back({parameter, {}});
}

void Trainer::step(int64_t batch_size, bool ignore_stale_grad) {
  check(batch_size > 0, ErrorKind::kValue, "Trainer.step: batch_size must be positive, got {}", batch_size);
  bool has_momentum = !is_adam_ && settings_["momentum"] != 0;
  const OpDef& op = find_op(is_adam_ ? "adam_update" : has_momentum ? "sgd_mom_update" : "sgd_update");
  const size_t state_count = is_adam_ ? 2 : has_momentum ? 1 : 0;
  std::vector<Slot*> fresh;
  for (Slot& slot : slots_) {
    bool is_fresh = slot.parameter->data().node()->is_fresh;
    check(is_fresh || ignore_stale_grad, ErrorKind::kRuntime,
          "Trainer.step: backward has not written the gradient of parameter '{}' since the last step; is it part of "
          "the loss?",
          slot.parameter->name());
    if (is_fresh) fresh.push_back(&slot);
  }
  std::vector<UpdateCall> calls;
  for (Slot* slot : fresh) {
    NDArray weight = slot->parameter->data().detach();
    while (slot->states.size() < state_count) slot->states.push_back(zeros_like(weight));
    ++slot->updates;
    std::vector<NDArray> tensors{weight, slot->parameter->grad()};
    tensors.insert(tensors.end(), slot->states.begin(), slot->states.begin() + static_cast<ptrdiff_t>(state_count));
    calls.push_back(
        {std::move(tensors), update_attrs(op, settings_, rate_of(*slot), 1 / static_cast<double>(batch_size))});
    slot->parameter->data().node()->is_fresh = false;
  }
  if (!calls.empty()) update_many(op, calls);
}

double Trainer::rate_of(const Slot& slot) const {
  if (!is_adam_) return learning_rate();
  auto t = static_cast<double>(slot.updates);
  return learning_rate() * std::sqrt(1 - std::pow(settings_.at("beta2"), t)) / (1 - std::pow(settings_.at("beta1"), t));
}

}  // namespace headrace::gluon
