#include "gluon/update_rules.h"

#include <cmath>
#include <ranges>

#include "base/check.h"
#include "op/catalogue.h"

namespace headrace::gluon {
namespace {

// Makes up for the zeros that Adam's means start from.
double adam_rate_factor(const OptimizerParams& settings, double t) {
  return std::sqrt(1 - std::pow(settings.at("beta2"), t)) / (1 - std::pow(settings.at("beta1"), t));
}

const UpdateRule kRules[] = {
    {"sgd", {{"learning_rate", 0.01}, {"momentum", 0}}, "sgd_update", "momentum", "sgd_mom_update"},
    {"nag", {{"learning_rate", 0.01}, {"momentum", 0}}, "sgd_update", "momentum", "nag_mom_update"},
    {"signum",
     {{"learning_rate", 0.01}, {"momentum", 0.9}, {"wd_lh", 0}},
     "signsgd_update",
     "momentum",
     "signum_update"},
    {.name = "adam",
     .defaults = {{"learning_rate", 0.001}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}},
     .operation = "adam_update",
     .rate_factor = adam_rate_factor},
    {"rmsprop",
     {{"learning_rate", 0.001},
      {"gamma1", 0.9},
      {"gamma2", 0.9},
      {"epsilon", 1e-8},
      {"centered", 0},
      {"clip_weights", -1}},
     "rmsprop_update",
     "centered",
     "rmspropalex_update"},
    {"ftrl", {{"learning_rate", 0.1}, {"lamda1", 0.01}, {"beta", 1}}, "ftrl_update"},
    {"ftml", {{"learning_rate", 0.01}, {"beta1", 0.6}, {"beta2", 0.999}, {"epsilon", 1e-8}}, "ftml_update"},
};

}  // namespace

const UpdateRule& find_update_rule(std::string_view name) {
  std::string wanted(name);
  for (char& letter : wanted)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  const auto* rule = std::ranges::find(kRules, std::string_view(wanted),
                                       [](const UpdateRule& one) { return std::string_view(one.name); });
  check(rule != std::end(kRules), ErrorKind::kValue, "Trainer: optimizer must be one of {}; got '{}'",
        fmt::join(kRules | std::views::transform(&UpdateRule::name), ", "), name);
  return *rule;
}

OptimizerParams settings_of(const UpdateRule& rule, const OptimizerParams& given) {
  OptimizerParams settings = rule.defaults;
  settings.insert({{"wd", 0}, {"clip_gradient", -1}});
  for (const auto& [name, value] : given) {
    auto own = settings.find(name);
    check(own != settings.end(), ErrorKind::kType, "Trainer: optimizer '{}' has no setting '{}'; it has {}", rule.name,
          name, fmt::join(settings | std::views::keys, ", "));
    own->second = value;
  }
  return settings;
}

const OpDef& operation_of(const UpdateRule& rule, const OptimizerParams& settings) {
  return find_op(rule.choice && settings.at(rule.choice) != 0 ? rule.chosen_operation : rule.operation);
}

AttrsPtr update_attrs(const UpdateRule& rule, const OpDef& operation, const OptimizerParams& settings, int64_t t,
                      double rescale) {
  IntrusivePtr<Attrs> attrs = operation.make_attrs();
  auto set = [&](std::string_view name, double value) {
    if (const FieldInfo* field = operation.schema->find(name))
      field->set(attrs->mutable_data(), value, *field, operation.name.c_str());
  };
  for (const auto& [name, value] : settings) set(name, value);
  auto update = static_cast<double>(t);
  set("lr", settings.at("learning_rate") * (rule.rate_factor ? rule.rate_factor(settings, update) : 1));
  set("t", update);
  set("clip_grad", settings.at("clip_gradient"));  // as ftml_update calls it
  set("rescale_grad", rescale);
  return AttrsPtr(attrs.get());
}

}  // namespace headrace::gluon
