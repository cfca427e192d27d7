// Results of GPUs beside those of the host.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "headrace/devices.hpp"
#include "headrace/ndarray.hpp"
#include "op/detours.h"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"

namespace headrace {

// Relative, and absolute below 1.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-13;
    case DType::kFloat16:
      return 2e-3;
    case DType::kBfloat16:
      return 2e-2;
    default:
      return 4e-6;
  }
}

// What another order of additions does to vectors of decompositions, in multiples of the usual tolerance.
inline constexpr double kOfVectors = 8;

// Functions are rounded differently, at most by a few units in the last place, or `times` as much.
inline void expect_close(const NDArray& there, const NDArray& here, double times = 1) {
  const auto numbers = [](const NDArray& array) {
    const NDArray wide = cast_to(array, DType::kFloat64);
    std::vector<double> values(static_cast<size_t>(wide.size()));
    wide.copy_to_host(values.data());
    return values;
  };
  ASSERT_EQ(there.shape(), here.shape());
  ASSERT_EQ(there.dtype(), here.dtype());
  if (!is_floating(here.dtype())) {
    EXPECT_EQ(bytes_of(there), bytes_of(here));
    return;
  }
  const std::vector<double> a = numbers(there), b = numbers(here);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i]))
      ASSERT_NEAR(a[i], b[i], times * tolerance(here.dtype()) * std::max(1.0, std::fabs(b[i]))) << "element " << i;
    else
      ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << a[i] << " for " << b[i];
  }
}

inline int64_t count_of_detours() {
  int64_t count = 0;
  for (const auto& [detour, times] : detours()) count += times;
  return count;
}

// What `compute` makes of arrays of the host, it makes of the same ones on a GPU, without a detour. Arrays go there
// packed; what is to lie otherwise, `compute` takes out of them.
inline void expect_as_on_host(const std::vector<NDArray>& inputs,
                              const std::function<NDArray(const std::vector<NDArray>&)>& compute, double times = 1) {
  std::vector<NDArray> moved;
  for (const NDArray& input : inputs) moved.push_back(as_in_context(input, kGpu0));
  const NDArray here = compute(inputs);
  const int64_t before = count_of_detours();
  const NDArray there = compute(moved);
  EXPECT_EQ(there.device(), kGpu0);
  const NDArray back = as_in_context(there, {});
  back.wait_to_read();
  EXPECT_EQ(count_of_detours(), before);
  expect_close(back, here, times);
}

inline constexpr DType kAllDTypes[] = {
    DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kBool,   DType::kInt8,  DType::kInt16,
    DType::kInt32,   DType::kInt64,   DType::kUint8,   DType::kUint16,   DType::kUint32, DType::kUint64};
inline constexpr DType kRealDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16};

}  // namespace headrace
