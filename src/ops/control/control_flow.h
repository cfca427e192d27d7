// Attributes of the operators whose bodies are graphs. Locations say which input of the body an input of the node is.
#pragma once

#include "op/attrs.h"

namespace headrace {

struct ForeachAttrs {
  int64_t num_args = 0, num_outputs = 0, num_out_data = 0;
  Shape in_state_locs = {}, in_data_locs = {}, remain_locs = {};
  static constexpr auto kFields =
      fields(field(&ForeachAttrs::num_args, "num_args", "Number of inputs, the body counted."),
             field(&ForeachAttrs::num_outputs, "num_outputs", "Number of outputs: stacked ones, then final states."),
             field(&ForeachAttrs::num_out_data, "num_out_data", "How many outputs are stacked."),
             field(&ForeachAttrs::in_state_locs, "in_state_locs", "Places of the states among the body's inputs."),
             field(&ForeachAttrs::in_data_locs, "in_data_locs", "Places of the entries looped over."),
             field(&ForeachAttrs::remain_locs, "remain_locs", "Places of what stays the same."));
};

struct WhileAttrs {
  int64_t num_args = 0, num_outputs = 0, num_out_data = 0, max_iterations = 0;
  OptionalInts cond_input_locs = {}, func_input_locs = {}, func_var_locs = {};
  static constexpr auto kFields =
      fields(field(&WhileAttrs::num_args, "num_args", "Number of inputs, the bodies counted."),
             field(&WhileAttrs::num_outputs, "num_outputs", "Number of outputs: stacked ones, then loop variables."),
             field(&WhileAttrs::num_out_data, "num_out_data", "How many outputs are stacked."),
             field(&WhileAttrs::max_iterations, "max_iterations", "How many steps run at most."),
             field(&WhileAttrs::cond_input_locs, "cond_input_locs", "Which inputs the condition reads."),
             field(&WhileAttrs::func_input_locs, "func_input_locs", "Which inputs the step reads."),
             field(&WhileAttrs::func_var_locs, "func_var_locs", "Which inputs of the step are loop variables."));
};

struct CondAttrs {
  int64_t num_args = 0, num_outputs = 0;
  OptionalInts cond_input_locs = {}, then_input_locs = {}, else_input_locs = {};
  static constexpr auto kFields =
      fields(field(&CondAttrs::num_args, "num_args", "Number of inputs, the bodies counted."),
             field(&CondAttrs::num_outputs, "num_outputs", "Number of outputs."),
             field(&CondAttrs::cond_input_locs, "cond_input_locs", "Which inputs the condition reads."),
             field(&CondAttrs::then_input_locs, "then_input_locs", "Which inputs the first branch reads."),
             field(&CondAttrs::else_input_locs, "else_input_locs", "Which inputs the second branch reads."));
};

}  // namespace headrace
