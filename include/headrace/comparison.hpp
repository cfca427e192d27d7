// Comparisons of arrays: == != < <= > >= element by element, between arrays (broadcast as NumPy does) and with numbers;
// and whether whole arrays agree. A floating number beside integers is compared as float64. Any thread.
// TypeError: an array is none. ValueError: shapes do not broadcast.
#pragma once

#include "headrace/arithmetic.hpp"
#include "headrace/ndarray.hpp"

namespace headrace {

// A bool array, computed later, that says of each element whether the comparison holds. As a condition it is the truth
// of its only element, for which it waits; ValueError: it has another number of elements. Ask array_equal() then.
class Comparison : public NDArray {
 public:
  explicit Comparison(NDArray truths) noexcept : NDArray(std::move(truths)) {}
  explicit operator bool() const { return item() != 0; }
};

Comparison operator==(const NDArray& x, const NDArray& y);
Comparison operator!=(const NDArray& x, const NDArray& y);
Comparison operator<(const NDArray& x, const NDArray& y);
Comparison operator<=(const NDArray& x, const NDArray& y);
Comparison operator>(const NDArray& x, const NDArray& y);
Comparison operator>=(const NDArray& x, const NDArray& y);

Comparison operator==(const NDArray& x, Scalar y);
Comparison operator!=(const NDArray& x, Scalar y);
Comparison operator<(const NDArray& x, Scalar y);
Comparison operator<=(const NDArray& x, Scalar y);
Comparison operator>(const NDArray& x, Scalar y);
Comparison operator>=(const NDArray& x, Scalar y);

Comparison operator==(Scalar x, const NDArray& y);
Comparison operator!=(Scalar x, const NDArray& y);
Comparison operator<(Scalar x, const NDArray& y);
Comparison operator<=(Scalar x, const NDArray& y);
Comparison operator>(Scalar x, const NDArray& y);
Comparison operator>=(Scalar x, const NDArray& y);

// Whether the arrays have one shape and equal elements; NaN equals nothing. Waits for both.
bool array_equal(const NDArray& x, const NDArray& y);
// Whether the arrays have one shape and |x - y| <= atol + rtol * |y| everywhere, in float64; equal infinities agree.
// Waits for both.
bool allclose(const NDArray& x, const NDArray& y, double rtol = 1e-5, double atol = 1e-8);

}  // namespace headrace
