// Recurrent layers that the library of a device computes as a whole, in place of the operators that RNN is made of.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "op/kernel_part.h"
#include "ops/rnn/layers.h"

namespace headrace {

// Of the internal operators. The forward one takes data, parameters, state and an LSTM's state_cell, and gives outputs,
// states, an LSTM's cells and what it keeps for the backward one; of other modes, and where it keeps nothing, the last
// two are empty. The backward one takes the gradients of outputs and states, data, parameters, state, outputs and what
// was kept, then of an LSTM state_cell and the gradient of the cells.
struct RnnLibraryAttrs {
  std::string mode = "lstm";
  int64_t state_size = 1, num_layers = 1;
  bool bidirectional = false;
  std::optional<int64_t> projection_size = {};
  int64_t kept_bytes = 0;
  static constexpr auto kFields =
      fields(field(&RnnLibraryAttrs::mode, "mode", "Kind of the layers.").one_of("gru|lstm|rnn_relu|rnn_tanh"),
             field(&RnnLibraryAttrs::state_size, "state_size", "Size of the states of a layer."),
             field(&RnnLibraryAttrs::num_layers, "num_layers", "Layers on top of each other."),
             field(&RnnLibraryAttrs::bidirectional, "bidirectional", "Whether each layer also runs backwards."),
             field(&RnnLibraryAttrs::projection_size, "projection_size", "Size to which an LSTM projects its state."),
             field(&RnnLibraryAttrs::kept_bytes, "kept_bytes", "What is kept for the backward pass; 0: nothing."));

  RnnAttrs layers() const {
    return {.state_size = state_size,
            .num_layers = num_layers,
            .bidirectional = bidirectional,
            .mode = mode,
            .state_outputs = true,
            .projection_size = projection_size};
  }
};

// Layers over sequences of one length.
struct RnnProblem {
  const RnnAttrs& attrs;
  DType dtype;
  int64_t steps, batch, input;
};

// How many bytes a forward pass keeps for the backward one. None: the device computes such layers step by step.
extern const DeviceQuestion<std::optional<int64_t>(Device device, const RnnProblem& problem)> bytes_kept_by_rnn;

// What RNN gives, computed by the library of the device that the arrays are on, or that the thread traces for. None:
// the library does not do what is asked for in the same way, or there is none. The call has been checked.
std::optional<std::vector<NDArray>> layers_by_library(std::span<const NDArray> in, const RnnAttrs& a);

}  // namespace headrace
