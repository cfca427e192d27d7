// Arrays from numbers in braces: nd::array({{1, 2}, {3, 4}}). Any thread.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

// A number, or braces around others; all of one depth have the same length. Numbers are doubles.
class Literal {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T number) : values_{static_cast<double>(number)} {}
  // ValueError: the items differ in shape.
  Literal(std::initializer_list<Literal> items);

  const Shape& shape() const noexcept { return shape_; }
  const std::vector<double>& values() const noexcept { return values_; }  // row-major

 private:
  Shape shape_;
  std::vector<double> values_;
};

namespace nd {

// A new array of these numbers; float32 unless another dtype is given.
NDArray array(const Literal& numbers, DType dtype = DType::kFloat32, Device device = {});

}  // namespace nd
}  // namespace headrace
