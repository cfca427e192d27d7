// Recurrent layers as the stand-in's cuDNN computes them, in double.
#pragma once

#include <cudnn_adv.h>

#include <cstdint>
#include <vector>

namespace stand_in {

struct RnnLayers {
  cudnnRNNMode_t cell = CUDNN_LSTM;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t directions = 1, input = 0, hidden = 0, output = 0, layers = 0;

  int64_t gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
  int64_t pseudo_layers() const { return layers * directions; }
  int64_t columns(int64_t pseudo) const { return pseudo < directions ? input : directions * output; }
  bool projects() const { return output < hidden; }
  int64_t item() const { return type == CUDNN_DATA_HALF ? 2 : 4; }
};

// Where weights lie, in elements: plainly, but where the hidden size is 5 there are gaps.
struct RnnPlaces {
  explicit RnnPlaces(const RnnLayers& of);
  std::vector<std::vector<int64_t>> matrices, biases;  // of a pseudo-layer, by the number of the linear layer
  int64_t elements = 0;
};

// Where memory lies; null where nothing was given.
struct RnnArrays {
  const char *x = nullptr, *hx = nullptr, *cx = nullptr, *weights = nullptr;
  char *y = nullptr, *hy = nullptr, *cy = nullptr;
  double* reserve = nullptr;
};
struct RnnGradients {
  const char *dy, *dhy, *dcy;
  char *dx, *dhx, *dcx;
};

int64_t reserve_doubles(const RnnLayers& of, int64_t steps, int64_t batch);
void rnn_forward(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays);
// Uses the reserve of a forward pass up. Ends the process for another one.
void rnn_backward_data(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays,
                       const RnnGradients& gradients);
// Adds. Takes what the pass for the data left in the reserve.
void rnn_backward_weights(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays, char* dweights);

}  // namespace stand_in
