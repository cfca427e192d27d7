// What tests of arrays share.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "headrace/error.hpp"
#include "headrace/ndarray.hpp"
#include "op/invoke.h"

namespace headrace {

inline NDArray array(const std::vector<float>& values, const Shape& shape) {
  return NDArray::from(std::span<const float>(values), shape);
}

inline NDArray array(const std::vector<float>& values) { return array(values, {static_cast<int64_t>(values.size())}); }

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

// Bytes of the elements, row-major.
inline std::string bytes_of(const NDArray& array) {
  std::string bytes(static_cast<size_t>(array.size()) * item_size(array.dtype()), '\0');
  array.copy_to_host(bytes.data());
  return bytes;
}

// Of the Error that `action` raises; the test fails when it raises none.
template <class F>
ErrorKind kind_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorKind::kRuntime;
}

}  // namespace headrace
