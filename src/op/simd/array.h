// Functions of whole dense arrays for operators that are no formulas: softmax, normalisation, sorting, losses. One
// thread each; any thread may call them. Lengths may be 0 unless said otherwise; results depend on the values and the
// length alone, not on alignment.
#pragma once

#include <cstdint>

#include "headrace/dtype.hpp"

namespace headrace::simd {

// y[i] = f(x[i]); y may be x. Accurate to 4 units in the last place, at special values too.
void exp(const float* x, float* y, int64_t n) noexcept;
void exp(const double* x, double* y, int64_t n) noexcept;
void log(const float* x, float* y, int64_t n) noexcept;
void log(const double* x, double* y, int64_t n) noexcept;

// y[i] = exp(x[i] - shift); returns the sum of y. The middle of a softmax in one pass; y may be x.
double exp_and_sum(const float* x, float shift, float* y, int64_t n) noexcept;
double exp_and_sum(const double* x, double shift, double* y, int64_t n) noexcept;

// Sums: float accumulates in double, double pairwise over blocks; as accurate as NumPy's or better.
double sum(const float* x, int64_t n) noexcept;
double sum(const double* x, int64_t n) noexcept;
double sum_of_squares(const float* x, float center, int64_t n) noexcept;  // of x[i] - center
double sum_of_squares(const double* x, double center, int64_t n) noexcept;
double dot(const float* a, const float* b, int64_t n) noexcept;
double dot(const double* a, const double* b, int64_t n) noexcept;

// The greatest and least value, NaN when there is one. Of nothing: the identity (minus or plus infinity).
float max(const float* x, int64_t n) noexcept;
double max(const double* x, int64_t n) noexcept;
float min(const float* x, int64_t n) noexcept;
double min(const double* x, int64_t n) noexcept;
// Index of the first greatest value, or of the first NaN when there is one. n > 0.
int64_t argmax(const float* x, int64_t n) noexcept;
int64_t argmax(const double* x, int64_t n) noexcept;

// x[i] *= a, and y[i] += a * x[i] (rounded twice, as the formulas do).
void scale(float* x, float a, int64_t n) noexcept;
void scale(double* x, double a, int64_t n) noexcept;
void axpy(float a, const float* x, float* y, int64_t n) noexcept;
void axpy(double a, const double* x, double* y, int64_t n) noexcept;

// Converts n elements between any two element types, as numeric_cast does (headrace's meaning of a cast). The arrays
// must not overlap, unless they are the same and so are the types.
void convert(const void* from, DType from_type, void* to, DType to_type, int64_t n);

}  // namespace headrace::simd
