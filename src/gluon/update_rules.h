// What the Trainer knows about each optimizer. An optimizer is one update operator of the catalogue with MXNet's
// settings; a new one is a row of the table in update_rules.cc. Immutable; any thread.
#pragma once

#include <string_view>

#include "headrace/gluon/trainer.hpp"
#include "op/op_def.h"

namespace headrace::gluon {

struct UpdateRule {
  const char* name;
  OptimizerParams defaults;
  const char* operation;
  // Where the setting `choice` is not 0, the operator is `chosen_operation`.
  const char* choice = nullptr;
  const char* chosen_operation = nullptr;
  // Factor of the learning rate in a parameter's update `t`, from 1.
  double (*rate_factor)(const OptimizerParams& settings, double t) = nullptr;
};

// ValueError: there is no optimizer of this name.
const UpdateRule& find_update_rule(std::string_view name);
// The defaults of `rule` with `given` in their places. TypeError: a setting that the optimizer does not have.
OptimizerParams settings_of(const UpdateRule& rule, const OptimizerParams& given);
const OpDef& operation_of(const UpdateRule& rule, const OptimizerParams& settings);
// Attributes of update `t` of a parameter whose gradient is multiplied by `rescale`.
AttrsPtr update_attrs(const UpdateRule& rule, const OpDef& operation, const OptimizerParams& settings, int64_t t,
                      double rescale);

}  // namespace headrace::gluon
