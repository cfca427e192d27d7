#include "headrace/init.hpp"

#include <cmath>

#include "base/check.h"
#include "op/invoke.h"

namespace headrace::init {
namespace {

NDArray uniform_values(const Shape& shape, Device device, double scale) {
  return call("_random_uniform", {}, {{"low", -scale}, {"high", scale}, {"shape", shape}, {"ctx", to_string(device)}});
}

}  // namespace

NDArray Zero::operator()(const Shape& shape, Device device) const { return full(shape, 0, DType::kFloat32, device); }

NDArray One::operator()(const Shape& shape, Device device) const { return full(shape, 1, DType::kFloat32, device); }

NDArray Uniform::operator()(const Shape& shape, Device device) const { return uniform_values(shape, device, scale); }

NDArray Normal::operator()(const Shape& shape, Device device) const {
  return call("_random_normal", {}, {{"scale", sigma}, {"shape", shape}, {"ctx", to_string(device)}});
}

NDArray Xavier::operator()(const Shape& shape, Device device) const {
  check(shape.size() >= 2, ErrorKind::kValue, "Xavier: a parameter needs at least 2 axes, got shape {}",
        to_string(shape));
  double window = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) window *= static_cast<double>(shape[axis]);
  double mean_count = static_cast<double>(shape[0] + shape[1]) * window / 2;
  return uniform_values(shape, device, std::sqrt(magnitude / mean_count));
}

}  // namespace headrace::init
