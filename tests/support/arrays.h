// What tests of arrays share.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "headrace/error.hpp"
#include "headrace/ndarray.hpp"

namespace headrace {

inline NDArray array(const std::vector<float>& values, const Shape& shape) {
  return NDArray::from(std::span<const float>(values), shape);
}

inline NDArray array(const std::vector<float>& values) { return array(values, {static_cast<int64_t>(values.size())}); }

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
