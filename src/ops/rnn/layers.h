// Stacked recurrent layers over whole sequences, with all their parameters in one vector, as MXNet's files have it:
// what the operators RNN and quantized_rnn share. Compositions of operators; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "op/invoke.h"
#include "op/rule.h"

namespace headrace {

struct RnnAttrs {
  int64_t state_size = 0;
  int64_t num_layers = 0;
  bool bidirectional = false;
  std::string mode = "lstm";
  double p = 0;
  bool state_outputs = false;
  std::optional<int64_t> projection_size = {};
  std::optional<double> lstm_state_clip_min = {}, lstm_state_clip_max = {};
  bool lstm_state_clip_nan = false;
  bool use_sequence_length = false;
  bool quantized = false;
  static constexpr auto kFields = fields(
      field(&RnnAttrs::state_size, "state_size", "Size of the states of a layer.").required(),
      field(&RnnAttrs::num_layers, "num_layers", "Layers on top of each other.").required(),
      field(&RnnAttrs::bidirectional, "bidirectional", "Whether each layer also runs from the last step to the first."),
      field(&RnnAttrs::mode, "mode", "Kind of the layers.").one_of("gru|lstm|rnn_relu|rnn_tanh").required(),
      field(&RnnAttrs::p, "p", "Rate of dropout between the layers, in training."),
      field(&RnnAttrs::state_outputs, "state_outputs", "Whether the states after the last step are results too."),
      field(&RnnAttrs::projection_size, "projection_size",
            "Size to which an LSTM projects its state; None: it does not."),
      field(&RnnAttrs::lstm_state_clip_min, "lstm_state_clip_min", "Least value of an LSTM's cells; None: any."),
      field(&RnnAttrs::lstm_state_clip_max, "lstm_state_clip_max", "Largest value of an LSTM's cells; None: any."),
      field(&RnnAttrs::lstm_state_clip_nan, "lstm_state_clip_nan",
            "Whether nan in an LSTM's cells becomes the least value."),
      field(&RnnAttrs::use_sequence_length, "use_sequence_length", "Whether sequence_length is given."),
      field(&RnnAttrs::quantized, "quantized", "Ignored; symbol files carry it.").of_files());
};

inline bool is_lstm(const RnnAttrs& a) { return a.mode == "lstm"; }

// Arrays that every call has: data, parameters, state and an LSTM's state_cell.
inline size_t base_inputs(const RnnAttrs& a) { return is_lstm(a) ? 4 : 3; }

// What the attributes and the size of an input vector determine.
struct RnnSizes {
  int64_t gates, state, output;
  bool projects;  // also where the projection is as large as the state
  int64_t layers, directions, input;

  RnnSizes(const RnnAttrs& a, int64_t input)
      : gates(is_lstm(a)        ? 4
              : a.mode == "gru" ? 3
                                : 1),
        state(a.state_size),
        output(a.projection_size.value_or(a.state_size)),
        projects(a.projection_size.has_value()),
        layers(a.num_layers),
        directions(a.bidirectional ? 2 : 1),
        input(input) {}

  int64_t rows() const { return gates * state; }
  int64_t columns(int64_t layer) const { return layer == 0 ? input : directions * output; }
  // At most kMostElements, which no array has.
  int64_t parameters() const {
    const auto count = [&]<class T>(T) {
      const T projection = projects ? T(output) * T(state) : T{0};
      const auto of_layer = [&](int64_t layer) {
        return T(gates) * T(state) * (T(columns(layer)) + T(output) + T{2}) + projection;
      };
      return T(directions) * (of_layer(0) + T(layers - 1) * of_layer(1));
    };
    return count(double{}) < 0x1p58 ? count(int64_t{}) : kMostElements;
  }
  Shape states(int64_t batch, int64_t size) const { return {layers * directions, batch, size}; }
};

// The weights of one layer in one direction.
struct RnnWeights {
  NDArray i2h, h2h, h2r, i2h_bias, h2h_bias;
};

// All weights stand before all biases, in both groups layer after layer, direction after direction.
std::vector<RnnWeights> unpacked(const NDArray& vector, const RnnSizes& s);

// Numbers as bytes hold them: x * scale + shift, rounded, of 0 to 255.
struct RnnBytes {
  NDArray scale, shift;  // of one element

  NDArray number(const NDArray& byte) const;
  NDArray rounded(const NDArray& x) const;
};

// Whether there is such an RNN on bytes.
inline bool can_quantize(const RnnAttrs& a) { return a.mode == "lstm" && !a.projection_size && !a.use_sequence_length; }

// Refuses attributes that contradict, and arrays that do not fit.
void check_rnn_attrs(const RnnAttrs& a);
void check_rnn_call(std::span<const NDArray> in, const RnnAttrs& a);
// What shapes say of each other.
void complete_rnn(Completion& c, const RnnAttrs& a);
// The outputs of all steps and, with state_outputs, the last states. An LSTM's outputs are rounded to `bytes`, where
// there are some.
std::vector<NDArray> run_layers(std::span<const NDArray> in, const RnnAttrs& a, const std::vector<RnnWeights>& weights,
                                const RnnBytes* bytes);
Sample rnn_sample(const RnnAttrs& a);

}  // namespace headrace
