#include "headrace/init.hpp"

#include <cmath>
#include <vector>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace::init {
namespace {

NDArray uniform_values(const Shape& shape, Device device, double scale) {
  return call("_random_uniform", {}, {{"low", -scale}, {"high", scale}, {"shape", shape}, {"ctx", to_string(device)}});
}

NDArray normal_values(const Shape& shape, Device device, double sigma) {
  return call("_random_normal", {}, {{"scale", sigma}, {"shape", shape}, {"ctx", to_string(device)}});
}

}  // namespace

NDArray Zero::operator()(const Shape& shape, Device device) const { return full(shape, 0, DType::kFloat32, device); }

NDArray One::operator()(const Shape& shape, Device device) const { return full(shape, 1, DType::kFloat32, device); }

NDArray Constant::operator()(const Shape& shape, Device device) const {
  return full(shape, value, DType::kFloat32, device);
}

NDArray Uniform::operator()(const Shape& shape, Device device) const { return uniform_values(shape, device, scale); }

NDArray Normal::operator()(const Shape& shape, Device device) const { return normal_values(shape, device, sigma); }

NDArray Xavier::operator()(const Shape& shape, Device device) const {
  check(shape.size() >= 2, ErrorKind::kValue, "Xavier: a parameter needs at least 2 axes, got shape {}",
        to_string(shape));
  check(factor_type == "avg" || factor_type == "in" || factor_type == "out", ErrorKind::kValue,
        "Xavier: factor_type must be avg, in or out, got {}", factor_type);
  check(rnd_type == "uniform" || rnd_type == "gaussian", ErrorKind::kValue,
        "Xavier: rnd_type must be uniform or gaussian, got {}", rnd_type);
  double window = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) window *= static_cast<double>(shape[axis]);
  const double in = static_cast<double>(shape[1]) * window, out = static_cast<double>(shape[0]) * window;
  const double factor = factor_type == "in" ? in : factor_type == "out" ? out : (in + out) / 2;
  const double scale = std::sqrt(magnitude / factor);
  return rnd_type == "uniform" ? uniform_values(shape, device, scale) : normal_values(shape, device, scale);
}

NDArray MSRAPrelu::operator()(const Shape& shape, Device device) const {
  return Xavier{"gaussian", factor_type, 2 / (1 + slope * slope)}(shape, device);
}

NDArray Orthogonal::operator()(const Shape& shape, Device device) const {
  check(!shape.empty(), ErrorKind::kValue, "Orthogonal: a parameter needs an axis, got shape ()");
  check(rand_type == "uniform" || rand_type == "normal", ErrorKind::kValue,
        "Orthogonal: rand_type must be uniform or normal, got {}", rand_type);
  const Shape matrix{shape[0], element_count(Shape(shape.begin() + 1, shape.end()))};
  const NDArray start = rand_type == "uniform" ? uniform_values(matrix, device, 1) : normal_values(matrix, device, 1);
  // The factors of a matrix with at least as many columns as rows; those of the transpose are theirs, transposed.
  const bool is_wide = matrix[0] <= matrix[1];
  const OpDef& op = find_op("_npi_svd");
  const NDArray turned = is_wide ? start : call("transpose", {start});
  const NDArray rows = invoke_all(op, op.default_attrs, {&turned, 1})[2];
  return call("_reshape_to", {(is_wide ? rows : call("transpose", {rows})) * scale}, {{"shape", shape}});
}

NDArray Bilinear::operator()(const Shape& shape, Device device) const {
  check(shape.size() == 4, ErrorKind::kValue, "Bilinear: a parameter needs 4 axes, got shape {}", to_string(shape));
  const double half = std::ceil(static_cast<double>(shape[3]) / 2);
  const double centre = (2 * half - 1 - std::fmod(half, 2)) / (2 * half);
  const auto factor = [&](int64_t place) { return 1 - std::abs(static_cast<double>(place) / half - centre); };
  std::vector<float> kernel;
  for (int64_t down = 0; down < shape[2]; ++down)
    for (int64_t across = 0; across < shape[3]; ++across)
      kernel.push_back(static_cast<float>(factor(down) * factor(across)));
  const NDArray one = NDArray::from(std::span<const float>(kernel), {1, 1, shape[2], shape[3]});
  return copied_to(call("broadcast_to", {one}, {{"shape", shape}}), device);
}

}  // namespace headrace::init
