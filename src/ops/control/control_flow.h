// Attributes of the operators whose bodies are graphs. Locations say which input of the body an input of the node is.
#pragma once

#include <string_view>

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

// Of a layer with what follows it, that MXNet put together for oneDNN. Its inputs are those that the body reads, then,
// where it is quantized, the two ends of the range of each that comes as bytes. What follows the layer is the body's to
// say; the flags repeat it.
struct JoinedLayerAttrs {
  bool with_bn = false, with_act = false, with_sum = false, with_postsum_act = false, with_eltwise = false,
       with_relu = false, with_postsum_relu = false;
  int64_t heads = 0;
  bool quantized = false, channel_wise_quantize = false, enable_float_output = false;
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields = fields(
      field(&JoinedLayerAttrs::with_bn, "with_bn", "Whether batch normalization follows."),
      field(&JoinedLayerAttrs::with_act, "with_act", "Whether an activation follows a convolution."),
      field(&JoinedLayerAttrs::with_sum, "with_sum", "Whether a sum follows; its other array is the last."),
      field(&JoinedLayerAttrs::with_postsum_act, "with_postsum_act", "Whether an activation follows the sum."),
      field(&JoinedLayerAttrs::with_eltwise, "with_eltwise", "Whether a function follows a dense layer."),
      field(&JoinedLayerAttrs::with_relu, "with_relu", "Older name of with_act and with_eltwise."),
      field(&JoinedLayerAttrs::with_postsum_relu, "with_postsum_relu", "Older name of with_postsum_act."),
      field(&JoinedLayerAttrs::heads, "heads", "Number of heads of an attention."),
      field(&JoinedLayerAttrs::quantized, "quantized", "Whether data come as bytes."),
      field(&JoinedLayerAttrs::channel_wise_quantize, "channel_wise_quantize",
            "Whether weight and bias of a quantized dense layer come as floats, as those of convolutions do; the "
            "rows of the weight are rounded to int8."),
      field(&JoinedLayerAttrs::enable_float_output, "enable_float_output",
            "Whether a quantized layer gives float32, without range."),
      field(&JoinedLayerAttrs::min_calib_range, "min_calib_range",
            "Least value of a quantized layer's result, which is bytes then; None: it is int32."),
      field(&JoinedLayerAttrs::max_calib_range, "max_calib_range", "Largest value; None: likewise."));
  bool gives_range() const noexcept { return quantized && !enable_float_output; }
  bool is_calibrated() const noexcept { return min_calib_range && max_calib_range; }
};

// The operators that have them, and the operator that is the layer in their bodies.
struct JoinedKind {
  std::string_view op, layer;
};
inline constexpr JoinedKind kJoinedConvolution{"_sg_mkldnn_conv", "Convolution"},
    kJoinedDense{"_sg_mkldnn_fully_connected", "FullyConnected"},
    kJoinedScores{"_sg_mkldnn_selfatt_qk", "_contrib_interleaved_matmul_selfatt_qk"},
    kJoinedValues{"_sg_mkldnn_selfatt_valatt", "_contrib_interleaved_matmul_selfatt_valatt"};

}  // namespace headrace
