// Layers, with the names, defaults and parameters of Python's. Those with parameters learn the number of their inputs
// from the first data they see. Convolutions and poolings are in image_layers.hpp.
#pragma once

#include "headrace/gluon/image_layers.hpp"
#include "headrace/gluon/operator_layer.hpp"

namespace headrace::gluon::nn {

// Its children one after the other.
class Sequential : public Block {
 public:
  template <class... Layers>
  void add(Layers... layers) {
    (add_child(std::to_string(children().size()), std::move(layers)), ...);
  }
  NDArray forward(const NDArray& x) override;
};
using HybridSequential = Sequential;  // every block can be hybridized

struct DenseOptions {
  std::string activation = {};  // as for Activation; empty: none
  bool use_bias = true;
  bool flatten = true;   // all axes but the first are one; otherwise the last axis alone is transformed
  int64_t in_units = 0;  // 0: as many as the first data have
  init::Initializer weight_initializer = nullptr, bias_initializer = init::Zero{};
};

// x w' + b: (n, in_units) to (n, units). ValueError: units is not positive, or there is no such activation.
class Dense : public OperatorLayer {
 public:
  explicit Dense(int64_t units, DenseOptions options = {});
};

// Rows of a table of shape (input_dim, output_dim): indices (...) to (..., output_dim).
class Embedding : public OperatorLayer {
 public:
  Embedding(int64_t input_dim, int64_t output_dim, init::Initializer weight_initializer = nullptr);
};

// (n, a, b, ...) to (n, a b ...).
class Flatten : public OperatorLayer {
 public:
  Flatten() : OperatorLayer("Flatten", {}) {}
};

// In training, each element is 0 with probability `rate` and the others grow to keep the mean.
class Dropout : public OperatorLayer {
 public:
  explicit Dropout(double rate) : OperatorLayer("Dropout", {{"p", rate}}) {}
};

// --- activations: element by element ---------------------------------------------------------------------------------

// "relu", "sigmoid", "tanh", "softrelu" or "softsign". ValueError: another word.
class Activation : public OperatorLayer {
 public:
  explicit Activation(std::string activation) : OperatorLayer("Activation", {{"act_type", std::move(activation)}}) {}
};

// x where positive, alpha x elsewhere. ValueError: alpha < 0.
class LeakyReLU : public OperatorLayer {
 public:
  explicit LeakyReLU(double alpha);
};

// LeakyReLU whose slope is learned, one per channel (`in_channels`) or one for all (1).
class PReLU : public OperatorLayer {
 public:
  explicit PReLU(init::Initializer alpha_initializer = nullptr, int64_t in_channels = 1);
};

// x where positive, alpha (e^x - 1) elsewhere.
class ELU : public OperatorLayer {
 public:
  explicit ELU(double alpha = 1);
};

// ELU with the constants that keep mean 0 and variance 1.
class SELU : public OperatorLayer {
 public:
  SELU();
};

// x (1 + erf(x / sqrt 2)) / 2.
class GELU : public OperatorLayer {
 public:
  GELU();
};

// x sigmoid(beta x).
class Swish : public Block {
 public:
  explicit Swish(double beta = 1) : beta_(beta) {}
  NDArray forward(const NDArray& x) override;

 private:
  double beta_;
};

// --- normalisations: (x - mean) / sqrt(variance + epsilon) gamma + beta, gamma and beta learned
// -----------------------

struct BatchNormOptions {
  int64_t axis = 1;  // of the channels
  double momentum = 0.9, epsilon = 1e-5;
  bool center = true, scale = true;  // false: beta stays as it is, gamma counts as 1
  bool use_global_stats = false;     // the running values are used in training too
  int64_t in_channels = 0;           // 0: as many as the first data have
};

// Mean and variance are those of each channel. In training they are of the batch, and the parameters running_mean and
// running_var move towards them by 1 - momentum; otherwise these are used.
class BatchNorm : public OperatorLayer {
 public:
  explicit BatchNorm(const BatchNormOptions& options = {});
};

// Mean and variance are those along `axis`.
class LayerNorm : public OperatorLayer {
 public:
  explicit LayerNorm(int64_t axis = -1, double epsilon = 1e-5);
};

// Mean and variance are those of each group of the channels (axis 1) of a sample.
class GroupNorm : public OperatorLayer {
 public:
  explicit GroupNorm(int64_t num_groups = 1, double epsilon = 1e-5);
};

// Mean and variance are those of each channel (axis 1) of a sample; with `scale` false gamma stays 1.
class InstanceNorm : public OperatorLayer {
 public:
  explicit InstanceNorm(double epsilon = 1e-5, bool center = true, bool scale = false);
};

}  // namespace headrace::gluon::nn
