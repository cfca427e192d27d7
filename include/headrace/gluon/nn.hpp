// Layers. Those with parameters learn the number of their inputs from the first data they see.
#pragma once

#include "headrace/gluon/block.hpp"

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

struct DenseOptions {
  std::string activation = {};  // as for Activation; empty: none
  bool use_bias = true;
  bool flatten = true;   // all axes but the first are one; otherwise the last axis alone is transformed
  int64_t in_units = 0;  // 0: as many as the first data have
};

// x w' + b: (n, in_units) to (n, units). ValueError: units is not positive, or there is no such activation.
class Dense : public Block {
 public:
  explicit Dense(int64_t units, DenseOptions options = {});
  NDArray forward(const NDArray& x) override;

 private:
  int64_t units_;
  DenseOptions options_;
  std::shared_ptr<Parameter> weight_, bias_;
};

// "relu", "sigmoid", "tanh", "softrelu" or "softsign", element by element. ValueError: another word.
class Activation : public Block {
 public:
  explicit Activation(std::string activation);
  NDArray forward(const NDArray& x) override;

 private:
  std::string activation_;
};

// (n, a, b, ...) to (n, a b ...).
class Flatten : public Block {
 public:
  NDArray forward(const NDArray& x) override;
};

// Values along `axis` brought to mean 0 and variance 1, then scaled by gamma and shifted by beta, both learned.
class LayerNorm : public Block {
 public:
  explicit LayerNorm(int64_t axis = -1, double epsilon = 1e-5);
  NDArray forward(const NDArray& x) override;

 private:
  int64_t axis_;
  double epsilon_;
  std::shared_ptr<Parameter> gamma_, beta_;
};

// In training, each element is 0 with probability `rate` and the others grow to keep the mean.
class Dropout : public Block {
 public:
  explicit Dropout(double rate) : rate_(rate) {}
  NDArray forward(const NDArray& x) override;

 private:
  double rate_;
};

}  // namespace headrace::gluon::nn
