// Whether two numbers are close to each other, read by the compilers of host and device.
#pragma once

#include <cmath>

namespace headrace {

// `equal_nan`: whether NaN is close to NaN.
inline bool is_close(double a, double b, double rtol, double atol, bool equal_nan) {
  if (a != a || b != b) return equal_nan && a != a && b != b;
  return a == b || std::fabs(a - b) <= atol + rtol * std::fabs(b);
}

}  // namespace headrace
