// Kernels of the operators that make arrays. The numbers follow from the attributes alone. Run by tasks, any thread.
#pragma once

#include "base/function_ref.h"
#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

// Every element of `output` is `value`, cast as astype would.
extern const KernelPartOf<void(KernelContext& context, const Tensor& output, const Number& value)> fill;
// Element i is values(i), cast, which are computed on the host.
template <class T>
using ValuesOf = FunctionRef<void(int64_t first, int64_t count, T* values)>;
extern const KernelPartOf<void(KernelContext& context, const Tensor& output, ValuesOf<double> values)> fill_doubles;
extern const KernelPartOf<void(KernelContext& context, const Tensor& output, ValuesOf<int64_t> values)> fill_integers;
// The same in memory of the host. T is double or int64_t.
template <class T>
void fill_with(const Tensor& output, ValuesOf<T> values);
// Element i is start + step * (i / repeat), cast: of integers, which wrap, or of doubles. Both are of one kind.
struct Progression {
  Number start, step;
  int64_t repeat;
};
extern const KernelPartOf<void(KernelContext& context, const Tensor& output, const Progression& progression)>
    fill_progression;
// Zeros, with ones on diagonal `k` of each matrix: k > 0 above the main one. Leading axes are a batch.
void fill_eye(KernelContext& context, const Tensor& output, int64_t k);
// Grid of indices: output[d] holds the position along axis d.
void fill_indices(KernelContext& context, const Tensor& output);
// Copies the triangle on and below diagonal `k` (lower) or on and above it; the rest is zero. Leading axes are a batch.
// A vector is every row of a square matrix.
extern const KernelPartOf<void(KernelContext& context, const Tensor& input, const Tensor& output, int64_t k,
                               bool lower)>
    copy_triangle;

}  // namespace headrace
