// What tests of graphs share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/lower.h"
#include "graph/nodes.h"
#include "headrace/symbol.hpp"
#include "op/invoke.h"
#include "op/trace.h"

namespace headrace {

// The lowered graph of what `body` computes of variables with these shapes.
inline Lowered traced(const std::vector<Shape>& shapes,
                      const std::function<std::vector<NDArray>(const std::vector<NDArray>&)>& body,
                      DType dtype = DType::kFloat32, bool training = false) {
  TraceScope scope(training);
  std::vector<NDArray> inputs;
  for (const Shape& shape : shapes) inputs.push_back(abstract_variable(shape, dtype));
  return lower(inputs, body(inputs));
}

// Bytes of the elements, row-major.
inline std::string bytes_of(const NDArray& array) {
  std::string bytes(static_cast<size_t>(array.size()) * item_size(array.dtype()), '\0');
  array.copy_to_host(bytes.data());
  return bytes;
}

// Values between -1 and 1 (between -3 and 3 for integers).
inline NDArray varied(const Shape& shape, DType dtype, uint64_t seed) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    const auto step = static_cast<float>((seed >> 33) % 2001) / 1000 - 1;
    values.push_back(is_floating(dtype) ? step : static_cast<float>(static_cast<int>(step * 3.4f)));
  }
  return cast_to(NDArray::from(std::span<const float>(values), shape), dtype);
}

}  // namespace headrace
