// RNN: stacked recurrent layers over whole sequences.

#include "op/quantization.h"
#include "ops/families.h"
#include "ops/rnn/layers.h"
#include "ops/rnn/rnn_library.h"

namespace headrace {
namespace {

std::vector<NDArray> compose(std::span<const NDArray> in, const RnnAttrs& a) {
  check_rnn_call(in, a);
  if (std::optional<std::vector<NDArray>> results = layers_by_library(in, a)) return std::move(*results);
  return run_layers(in, a, unpacked(in[1], RnnSizes(a, in[0].shape()[2])), nullptr);
}

}  // namespace

Operators rnn_operators() {
  return {general<RnnAttrs>({
      .name = "RNN",
      .aliases = {"_npx_rnn"},
      .python = {"nd.RNN", "npx.rnn"},
      .doc =
          R"(Recurrent layers over sequences: data (steps, batch, channels) to (steps, batch, directions * state_size).

`parameters` is one vector: for each layer and direction the weights of the inputs and of the states (of an LSTM that
projects also those of the projection), then likewise the two biases. The gates are, of an LSTM: input, forget, new
values, output; of a GRU: reset, update, new values. `state` and an LSTM's `state_cell` are (layers * directions, batch,
size). With `state_outputs` the states after the last step follow as further results. Sequences of the lengths
`sequence_length` (batch,) have outputs of zero behind their end and keep the states that they had there.

Raises MXNetError for arrays of other shapes, ValueError for attributes that contradict.)",
      .inputs = {"data", "parameters", "state", "state_cell", "sequence_length"},
      .optional_inputs = 2,
      .output_count = [](const RnnAttrs& a) -> size_t { return a.state_outputs ? (is_lstm(a) ? 3 : 2) : 1; },
      .array_names = {.outputs = {"output", "state_output", "statecell_output"}},
      .input_count = [](const RnnAttrs& a) { return base_inputs(a) + (a.use_sequence_length ? 1 : 0); },
      .complete = complete_rnn,
      .compose = compose,
      .quantization = quantization({.becomes = "_contrib_quantized_rnn",
                                    .attributes = {{"quantized", "true"}},
                                    .where = [](const RnnAttrs& a) { return can_quantize(a); },
                                    .is_worthwhile = true,
                                    .keeps_input = [](const RnnAttrs&, size_t i, size_t) { return i > 0; },
                                    .shifts_data = true,
                                    .has_float_results = true}),
      .samples = {rnn_sample({.state_size = 2, .num_layers = 1, .mode = "lstm", .state_outputs = true}),
                  rnn_sample({.state_size = 2, .num_layers = 2, .bidirectional = true, .mode = "gru"}),
                  rnn_sample({.state_size = 4, .num_layers = 1, .mode = "lstm", .projection_size = 2}),
                  rnn_sample({.state_size = 2, .num_layers = 1, .mode = "rnn_tanh", .use_sequence_length = true}),
                  rnn_sample({.state_size = 2, .num_layers = 1, .mode = "rnn_relu"})},
  })};
}

}  // namespace headrace
