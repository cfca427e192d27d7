// From a DType known at run time to a C++ type known at compile time: dispatch(dtype, []<class T>() { ... }).
#pragma once

#include <cstdint>
#include <utility>

#include "base/half.h"
#include "headrace/dtype.hpp"

namespace headrace {

// Calls f.template operator()<T>() with the storage type of `dtype` (bool is stored as one byte of 0 or 1).
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f.template operator()<float>();
    case DType::kFloat64:
      return f.template operator()<double>();
    case DType::kFloat16:
      return f.template operator()<Float16>();
    case DType::kBfloat16:
      return f.template operator()<Bfloat16>();
    case DType::kInt8:
      return f.template operator()<int8_t>();
    case DType::kInt16:
      return f.template operator()<int16_t>();
    case DType::kInt32:
      return f.template operator()<int32_t>();
    case DType::kInt64:
      return f.template operator()<int64_t>();
    case DType::kUint8:
      return f.template operator()<uint8_t>();
    case DType::kUint16:
      return f.template operator()<uint16_t>();
    case DType::kUint32:
      return f.template operator()<uint32_t>();
    case DType::kUint64:
      return f.template operator()<uint64_t>();
    case DType::kBool:
      return f.template operator()<bool>();
  }
  __builtin_unreachable();
}

// The same by element size only, for copies and permutations: T is an unsigned integer of that many bytes.
template <class F>
decltype(auto) dispatch_size(DType dtype, F&& f) {
  switch (item_size(dtype)) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    default:
      return f.template operator()<uint64_t>();
  }
}

}  // namespace headrace
