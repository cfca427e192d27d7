// Products of matrices by cuBLASLt, a library that is looked up when the first product is needed. One handle for each
// device, which the device's launch thread alone uses; what the library says of a product is kept with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "headrace/dtype.hpp"

namespace headrace {

class CudaStream;

// Matrices lie column after column, `leading` elements from one to the next; those of a batch `batch_stride` apart.
struct BlasMatrix {
  const void* data;
  int64_t rows, columns, leading;
  bool is_transposed;  // what is multiplied is the transpose
  int64_t batch_stride;
};

// d = a b, of m x n and of m x k and k x n, and `bias`, which is added to every column; of one dtype. d is packed.
struct BlasProduct {
  DType dtype;  // float32, float64, float16 or bfloat16
  int64_t m, n, k, batch;
  BlasMatrix a, b;
  void* d;
  const void* bias;  // m elements, or null; null for float64
  bool adds;         // to what is in d
};

// Puts the product on the stream. `workspace` gives memory of the device that belongs to the launch. False, with
// nothing done: there is no library, which is said once, or it has no code for this product. Raises Error(kRuntime).
// The launch thread of the stream's device.
bool put_product(CudaStream& stream, const BlasProduct& product, FunctionRef<void*(size_t bytes)> workspace);

}  // namespace headrace
