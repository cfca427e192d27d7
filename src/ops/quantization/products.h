// Products of matrices of bytes with exact int32 sums, under the dense layers on int8 and uint8. Run on the thread of a
// task.
#pragma once

#include "op/kernel.h"

namespace headrace {

// The elements of an int8 or uint8 array as floats, in the task's workspace.
const float* floats_of(KernelContext& c, const Tensor& bytes);

// out (m, n) = a (m, k) times the rows of b (n, k). `a` holds numbers of dtype int8 or uint8, `b` of int8, as floats.
// Sums beyond int32 wrap around.
void exact_products(KernelContext& c, DType dtype, const float* a, const float* b, int64_t m, int64_t n, int64_t k,
                    int32_t* out);

// How many products of such a byte with an int8 one are summed exactly by floats, which hold integers up to 2^24.
int64_t exact_sums(DType dtype);
// Adds `count` floats that are integers; sums beyond int32 wrap around.
void add_wrapped(int32_t* sums, const float* integers, int64_t count);

// Multiplies sums with a scale from 0 to 1 and rounds them.
void scale_sums(int32_t* sums, float scale, int64_t count);
// Adds n numbers to each of m rows, as exact_products adds.
void add_to_rows(int32_t* sums, const int32_t* numbers, int64_t m, int64_t n);
// Adds a number for each channel to packed images, likewise.
void add_to_channels(int32_t* sums, const int32_t* numbers, int64_t images, int64_t channels, int64_t plane);

}  // namespace headrace
