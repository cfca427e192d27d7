// Recurrent layers, which compute all steps of a sequence at once, with the names, defaults and parameter files of
// Python's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headrace/device.hpp"
#include "headrace/gluon/block.hpp"

namespace headrace::gluon::rnn {

struct LayerOptions {
  int64_t num_layers = 1;
  std::string layout = "TNC";   // axes of data and outputs; or "NTC"
  double dropout = 0;           // in training, between layers
  bool bidirectional = false;   // both directions, whose outputs are joined along C
  int64_t input_size = 0;       // 0: as many as the first data have
  int64_t projection_size = 0;  // LSTM: outputs are projected to that size; 0: they are not
  init::Initializer weight_initializer = nullptr;
  init::Initializer bias_initializer = init::Zero{};
};

using States = std::vector<NDArray>;  // each (layers directions, N, C)

// What RNN, LSTM and GRU share. ValueError: sizes that are not positive, or an unknown layout.
class RecurrentLayer : public Block {
 public:
  // The outputs of all steps, from states of zeros. ValueError: the data do not have three axes.
  NDArray forward(const NDArray& x) override;
  using Block::operator();
  // The outputs, and the states after the last step. Runs operator by operator, hybridized or not. ValueError: states
  // of other shapes than begin_state's.
  std::pair<NDArray, States> operator()(const NDArray& x, const States& states);
  // States of zeros: of h, and for LSTM of c.
  States begin_state(int64_t batch_size, Device device = {}) const;

 protected:
  RecurrentLayer(std::string mode, int64_t hidden_size, LayerOptions options);

 private:
  int64_t directions() const noexcept { return options_.bidirectional ? 2 : 1; }
  int64_t output_size() const noexcept { return options_.projection_size ? options_.projection_size : hidden_size_; }
  int64_t batch_size(const NDArray& x) const;
  std::vector<Shape> state_shapes(int64_t batch_size) const;
  // States of zeros that follow from data, so that a graph has them for batches of any size.
  States zeros_beside(const NDArray& x) const;
  void add_cell(const std::string& prefix, int64_t columns);
  void complete_shapes(int64_t input_size);
  // The parameters as the operator wants them.
  NDArray flat_parameters(Device device) const;
  std::vector<NDArray> compute(const NDArray& x, const States& states, bool state_outputs);

  std::string mode_;
  int64_t hidden_size_;
  LayerOptions options_;
  std::vector<std::shared_ptr<Parameter>> weights_, biases_;
};

// h' = activation(W x + b + U h + c), "relu" or "tanh". ValueError: another activation.
class RNN : public RecurrentLayer {
 public:
  explicit RNN(int64_t hidden_size, LayerOptions options = {}, const std::string& activation = "relu");
};

// Long short-term memory.
class LSTM : public RecurrentLayer {
 public:
  explicit LSTM(int64_t hidden_size, LayerOptions options = {})
      : RecurrentLayer("lstm", hidden_size, std::move(options)) {}
};

// Gated recurrent units.
class GRU : public RecurrentLayer {
 public:
  explicit GRU(int64_t hidden_size, LayerOptions options = {})
      : RecurrentLayer("gru", hidden_size, std::move(options)) {}
};

}  // namespace headrace::gluon::rnn
