// What the generic tests call an operator with. All operators state some, so what makes one is compiled once, in
// sample.cc.
#pragma once

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
SampleArray uniform(Shape shape, double low = -2, double high = 2, DType dtype = DType::kFloat32);
SampleArray values(std::vector<double> list, DType dtype = DType::kFloat32);
SampleArray integers(Shape shape, int64_t low, int64_t high, DType dtype = DType::kInt32);

// One call: its arrays and attributes.
struct Sample {
  std::vector<SampleArray> inputs;
  AttrsPtr attrs;  // null: defaults
  Sample(SampleArray one);
  Sample(std::vector<SampleArray> all, AttrsPtr a = {});
  Sample(const Sample&);
  Sample(Sample&&) noexcept;
  Sample& operator=(const Sample&);
  Sample& operator=(Sample&&) noexcept;
  ~Sample();
};

}  // namespace headrace
