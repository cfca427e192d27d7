// Arithmetic on arrays: + - * / between arrays (broadcast as NumPy does) and with numbers. Results are new arrays,
// computed later; dtypes are promoted as in headrace::np, so integers divided give floats. Any thread.
// TypeError: an array is none. ValueError: shapes do not broadcast.
#pragma once

#include <type_traits>

#include "headrace/ndarray.hpp"

namespace headrace {

// A number beside an array. It takes the array's dtype, except that a floating number beside integers gives float64;
// Python, as MXNet, counts every number as an integer and keeps the array's dtype there, too.
struct Scalar {
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T number)
      : value(static_cast<double>(number)), is_integer(std::is_integral_v<T>) {}

  double value;
  bool is_integer;
};

NDArray operator-(const NDArray& x);

NDArray operator+(const NDArray& x, const NDArray& y);
NDArray operator-(const NDArray& x, const NDArray& y);
NDArray operator*(const NDArray& x, const NDArray& y);
NDArray operator/(const NDArray& x, const NDArray& y);

NDArray operator+(const NDArray& x, Scalar y);
NDArray operator-(const NDArray& x, Scalar y);
NDArray operator*(const NDArray& x, Scalar y);
NDArray operator/(const NDArray& x, Scalar y);

NDArray operator+(Scalar x, const NDArray& y);
NDArray operator-(Scalar x, const NDArray& y);
NDArray operator*(Scalar x, const NDArray& y);
NDArray operator/(Scalar x, const NDArray& y);

// x = x + y and its like, written into the memory of x, so that every handle to it sees the new values. Beside an array
// of another dtype the result is cast to that of x. ValueError: the result has another shape than x. TypeError: x holds
// integers, and dividing them, a floating number or an array of floats makes floats. RuntimeError: the thread records,
// and x already belongs to the graph.
NDArray& operator+=(NDArray& x, const NDArray& y);
NDArray& operator-=(NDArray& x, const NDArray& y);
NDArray& operator*=(NDArray& x, const NDArray& y);
NDArray& operator/=(NDArray& x, const NDArray& y);

NDArray& operator+=(NDArray& x, Scalar y);
NDArray& operator-=(NDArray& x, Scalar y);
NDArray& operator*=(NDArray& x, Scalar y);
NDArray& operator/=(NDArray& x, Scalar y);

}  // namespace headrace
