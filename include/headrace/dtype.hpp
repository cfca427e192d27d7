// Element types. The numeric values are the type flags of MXNet's files (formats: NDArray record, symbol `__dtype__`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace {

enum class DType : uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kUint8 = 3,
  kInt32 = 4,
  kInt8 = 5,
  kInt64 = 6,
  kBool = 7,
  kInt16 = 8,
  kUint16 = 9,
  kUint32 = 10,
  kUint64 = 11,
  kBfloat16 = 12,
};
inline constexpr int kDTypeCount = 13;

inline constexpr uint8_t kItemSizes[kDTypeCount] = {4, 8, 2, 1, 4, 1, 8, 1, 2, 2, 4, 8, 2};
inline size_t item_size(DType dtype) noexcept { return kItemSizes[static_cast<size_t>(dtype)]; }  // bytes
std::string_view dtype_name(DType dtype) noexcept;  // NumPy's names: "float32", "bool", "bfloat16"
DType parse_dtype(std::string_view name);           // raises TypeError for an unknown name
bool is_floating(DType dtype) noexcept;
bool is_integer(DType dtype) noexcept;  // signed or unsigned, not bool
bool is_signed(DType dtype) noexcept;   // signed integers and floats

}  // namespace headrace
