// Initialisers: how parameters get their first values.
#pragma once

#include <functional>
#include <string>

#include "headrace/ndarray.hpp"

namespace headrace::init {

// Makes the first values of a float32 parameter of this shape on this device.
using Initializer = std::function<NDArray(const Shape& shape, Device device)>;

struct Zero {
  NDArray operator()(const Shape& shape, Device device) const;
};

struct One {
  NDArray operator()(const Shape& shape, Device device) const;
};

struct Constant {
  double value;
  NDArray operator()(const Shape& shape, Device device) const;
};

// Uniform in [-scale, scale).
struct Uniform {
  double scale = 0.07;
  NDArray operator()(const Shape& shape, Device device) const;
};

struct Normal {
  double sigma = 0.01;
  NDArray operator()(const Shape& shape, Device device) const;
};

// Uniform in [-s, s), or (`rnd_type` "gaussian") normal with deviation s: s^2 = magnitude / factor, which is the number
// of inputs ("in"), of outputs ("out") or their mean ("avg"). ValueError: fewer than 2 axes, or another word.
struct Xavier {
  std::string rnd_type = "uniform";
  std::string factor_type = "avg";
  double magnitude = 3;
  NDArray operator()(const Shape& shape, Device device) const;
};

// Gaussian Xavier for layers that feed a (leaky) ReLU of this slope.
struct MSRAPrelu {
  std::string factor_type = "avg";
  double slope = 0.25;
  NDArray operator()(const Shape& shape, Device device) const;
};

// `scale` times a matrix with orthonormal rows, or columns, seen as (shape[0], the rest), from random numbers that are
// "uniform" or "normal". ValueError: no axis, or another word.
struct Orthogonal {
  double scale = 1.414;
  std::string rand_type = "uniform";
  NDArray operator()(const Shape& shape, Device device) const;
};

// Weights of a transposed convolution that enlarges images by bilinear interpolation. ValueError: other than 4 axes.
struct Bilinear {
  NDArray operator()(const Shape& shape, Device device) const;
};

}  // namespace headrace::init
