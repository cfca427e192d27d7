// quantized_rnn: an LSTM whose data and outputs are bytes.

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "ops/families.h"
#include "ops/rnn/layers.h"

namespace headrace {
namespace {

constexpr size_t kScale = 4, kShift = 5;

void check_quantized(const RnnAttrs& a) {
  check(can_quantize(a), ErrorKind::kRuntime,
        "quantized_rnn: only mode='lstm' without projection_size and use_sequence_length is supported, got mode='{}'",
        a.mode);
}

// Weights as int8 holds them. Of each row the largest of all layers and directions becomes 127.
void round_weights(std::vector<RnnWeights>& weights) {
  NDArray largest;
  for (const RnnWeights& w : weights)
    for (const NDArray& matrix : {w.i2h, w.h2h}) {
      const NDArray own = call("max", {call("abs", {matrix})}, {{"axis", Shape{1}}, {"keepdims", true}});
      largest = largest ? call("broadcast_maximum", {largest, own}) : own;
    }
  const NDArray present = call("_maximum_scalar", {largest}, {{"scalar", 1e-30}});
  const NDArray scale = call("_rdiv_scalar", {present}, {{"scalar", 127.0}});
  for (RnnWeights& w : weights)
    for (NDArray* matrix : {&w.i2h, &w.h2h}) *matrix = call("rint", {*matrix * scale}) / scale;
}

std::vector<NDArray> compose_quantized(std::span<const NDArray> in, const RnnAttrs& a) {
  check_quantized(a);
  check(in.size() == kShift + 1, ErrorKind::kType, "quantized_rnn: 6 arrays are needed, got {}", in.size());
  check(in[0].dtype() == DType::kUint8, ErrorKind::kRuntime, "quantized_rnn: data must hold uint8, got {}",
        dtype_name(in[0].dtype()));
  for (size_t k = 1; k < in.size(); ++k)
    check(in[k].dtype() == DType::kFloat32, ErrorKind::kRuntime, "quantized_rnn: input {} must hold float32, got {}", k,
          dtype_name(in[k].dtype()));
  for (size_t k : {kScale, kShift})
    check(in[k].shape() == Shape{1}, ErrorKind::kRuntime, "quantized_rnn: input {} must have shape (1,), got {}", k,
          to_string(in[k].shape()));
  check_rnn_call(in.first(kScale), a);
  std::vector<RnnWeights> weights = unpacked(in[1], RnnSizes(a, in[0].shape()[2]));
  round_weights(weights);
  const RnnBytes bytes{in[kScale], in[kShift]};
  const NDArray numbers[] = {bytes.number(cast_to(in[0], DType::kFloat32)), in[1], bytes.rounded(in[2]), in[3]};
  return run_layers(numbers, a, weights, &bytes);
}

Sample quantized_sample(const RnnAttrs& a) {
  Sample sample = rnn_sample(a);
  sample.inputs[0] = integers(sample.inputs[0].shape, 0, 256, DType::kUint8);
  sample.inputs.insert(sample.inputs.end(), {values({60}), values({128})});
  return sample;
}

}  // namespace

Operators quantized_rnn_operators() {
  return {general<RnnAttrs>(
      {.name = "_contrib_quantized_rnn",
       .python = {"nd.contrib.quantized_rnn"},
       .doc =
           "RNN of mode lstm on uint8 data, which stand for (data - data_shift) / data_scale. The outputs of all steps "
           "and the first states are rounded to the same bytes, weights to 127 parts of the largest of their row; "
           "biases and cells stay float32, as are all results. The gradient is zero. Raises MXNetError for other modes "
           "and for arrays that do not fit.",
       .inputs = {"data", "parameters", "state", "state_cell", "data_scale", "data_shift"},
       .output_count = [](const RnnAttrs& a) -> size_t { return a.state_outputs ? 3 : 1; },
       .array_names = {.outputs = {"output", "state_output", "statecell_ouput"}},
       .input_name = [](const RnnAttrs&, size_t i) -> std::string {
         return i == kScale ? "min_data" : i == kShift ? "max_data" : "";
       },
       .complete =
           [](Completion& c, const RnnAttrs& a) {
             check_quantized(a);
             complete_rnn(c, a);
             for (size_t k : {kScale, kShift}) c.set(k, {1});
           },
       .result_dtype = [](std::span<const DType>, const RnnAttrs&, size_t) { return DType::kFloat32; },
       .compose = compose_quantized,
       .zero_gradient = true,
       .own_gradient = true,
       .samples = {quantized_sample({.state_size = 2, .num_layers = 2, .bidirectional = true, .state_outputs = true}),
                   quantized_sample({.state_size = 3, .num_layers = 1})}})};
}

}  // namespace headrace
