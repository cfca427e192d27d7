// What the generic tests call an operator with.
#pragma once

#include <utility>
#include <vector>

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"
#include "op/attrs.h"

namespace headrace {

struct SampleArray {
  Shape shape;
  DType dtype = DType::kFloat32;
  double low = -2, high = 2;   // values are uniform in [low, high) unless listed
  std::vector<double> values;  // listed values, row-major
};
inline SampleArray uniform(Shape shape, double low = -2, double high = 2, DType dtype = DType::kFloat32) {
  return {std::move(shape), dtype, low, high, {}};
}
inline SampleArray values(std::vector<double> list, DType dtype = DType::kFloat32) {
  Shape shape{static_cast<int64_t>(list.size())};
  return {std::move(shape), dtype, 0, 0, std::move(list)};
}
inline SampleArray integers(Shape shape, int64_t low, int64_t high, DType dtype = DType::kInt32) {
  return {std::move(shape), dtype, static_cast<double>(low), static_cast<double>(high), {}};
}

// One call: its arrays and attributes.
struct Sample {
  std::vector<SampleArray> inputs;
  AttrsPtr attrs;  // null: defaults
  Sample(SampleArray one) { inputs.push_back(std::move(one)); }
  Sample(std::vector<SampleArray> all, AttrsPtr a = {}) : inputs(std::move(all)), attrs(std::move(a)) {}
};

}  // namespace headrace
