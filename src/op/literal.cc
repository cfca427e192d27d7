#include "headrace/literal.hpp"

#include <fmt/format.h>

#include "headrace/devices.hpp"
#include "headrace/error.hpp"
#include "op/invoke.h"

namespace headrace {

Literal::Literal(std::initializer_list<Literal> items) : shape_{static_cast<int64_t>(items.size())} {
  for (const Literal& item : items) {
    const Shape& first = items.begin()->shape_;
    if (!(item.shape_ == first))
      throw Error(ErrorKind::kValue, fmt::format("array: items in braces have one shape; expected {}, got {}",
                                                 std::string(to_string(first)), std::string(to_string(item.shape_))));
    values_.insert(values_.end(), item.values_.begin(), item.values_.end());
  }
  if (items.size() > 0)
    for (int64_t extent : items.begin()->shape_) shape_.push_back(extent);
}

NDArray nd::array(const Literal& numbers, DType dtype, Device device) {
  const NDArray exact = NDArray::from_host(numbers.values().data(), numbers.shape(), DType::kFloat64);
  return as_in_context(dtype == DType::kFloat64 ? exact : cast_to(exact, dtype), device);
}

}  // namespace headrace
