// Whole tensors of floats in the type that kernels compute in: float32, or float64 for float64. Thread of the kernel.
#pragma once

#include <algorithm>
#include <type_traits>

#include "op/formula/transfer.h"
#include "op/kernel.h"

namespace headrace {

// Calls f.template operator()<T>() with that type.
template <class F>
void with_floats(DType dtype, F&& f) {
  if (dtype == DType::kFloat64)
    f.template operator()<double>();
  else
    f.template operator()<float>();
}

template <class T>
inline constexpr ComputeType kComputeType = std::is_same_v<T, double> ? ComputeType::kFloat64 : ComputeType::kFloat32;

// The numbers of a tensor: its memory, or a converted copy in workspace.
template <class T>
const T* numbers_of(KernelContext& c, const Tensor& tensor) {
  if (tensor.dtype == dtype_of(kComputeType<T>)) return tensor.as<const T>();
  T* copy = c.workspace<T>(tensor.size);
  load_function(tensor.dtype, kComputeType<T>)(copy, tensor.data, 1, tensor.size);
  return copy;
}

// A result that is computed in T, from zeros on; `finish` brings it to its dtype.
template <class T>
class Result {
 public:
  Result(KernelContext& c, const Tensor& tensor)
      : tensor_(tensor),
        is_there_(tensor.dtype == dtype_of(kComputeType<T>)),
        data_(is_there_ ? tensor.as<T>() : c.workspace<T>(tensor.size)) {
    std::fill_n(data_, tensor.size, T{0});
  }
  T* data() const noexcept { return data_; }
  void finish() const {
    if (!is_there_) store_function(kComputeType<T>, tensor_.dtype)(data_, tensor_.data, 1, tensor_.size);
  }

 private:
  const Tensor& tensor_;
  bool is_there_;
  T* data_;
};

}  // namespace headrace
