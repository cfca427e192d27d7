// Between memory of any element type and stride and a tile in a compute type.
#pragma once

#include <cstdint>

#include "headrace/dtype.hpp"
#include "op/formula/opcode.h"

namespace headrace {

// Reads memory[i * stride] into tile[i], or writes tile[i] to memory[i * stride], for i in [0, n), converting as
// numeric_cast does. Strides count elements and may be 0 (load only) or negative.
using Load = void (*)(void* tile, const void* memory, int64_t stride, int64_t n) noexcept;
using Store = void (*)(const void* tile, void* memory, int64_t stride, int64_t n) noexcept;

Load load_function(DType from, ComputeType to);
Store store_function(ComputeType from, DType to);

// The element type of a tile.
constexpr DType dtype_of(ComputeType type) noexcept {
  switch (type) {
    case ComputeType::kFloat32:
      return DType::kFloat32;
    case ComputeType::kFloat64:
      return DType::kFloat64;
    case ComputeType::kInt32:
      return DType::kInt32;
    case ComputeType::kInt64:
      return DType::kInt64;
    case ComputeType::kUint64:
      return DType::kUint64;
  }
  return DType::kFloat32;
}

// What values of a storage type compute in.
constexpr ComputeType compute_type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBfloat16:
      return ComputeType::kFloat32;
    case DType::kFloat64:
      return ComputeType::kFloat64;
    case DType::kInt64:
    case DType::kUint32:
      return ComputeType::kInt64;
    case DType::kUint64:
      return ComputeType::kUint64;
    default:
      return ComputeType::kInt32;
  }
}

}  // namespace headrace
