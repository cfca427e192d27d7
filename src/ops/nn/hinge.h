// The slope of the multi-class hinge loss, read by the compilers of host and device.
#pragma once

namespace headrace {

// By the score x of a class; the loss is squared unless it is linear.
template <class T>
inline T hinge_slope(T x, bool is_label, T margin, T factor, bool is_linear) {
  const T side = is_label ? T{1} : T{-1}, missing = margin - side * x;
  const T slope = missing > 0 ? (is_linear ? T{1} : 2 * missing) : T{0};
  return -side * slope * factor;
}

}  // namespace headrace
