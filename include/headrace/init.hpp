// Initialisers: how parameters get their first values.
#pragma once

#include <functional>

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

// Uniform in [-scale, scale).
struct Uniform {
  double scale = 0.07;
  NDArray operator()(const Shape& shape, Device device) const;
};

struct Normal {
  double sigma = 0.01;
  NDArray operator()(const Shape& shape, Device device) const;
};

// Uniform in [-s, s) with s^2 = magnitude / mean of the numbers of inputs and outputs. ValueError: fewer than 2 axes.
struct Xavier {
  double magnitude = 3;
  NDArray operator()(const Shape& shape, Device device) const;
};

}  // namespace headrace::init
