#include "headrace/dtype.hpp"

#include <array>

#include "base/check.h"

namespace headrace {
namespace {

struct Row {
  std::string_view name;
  bool floating, integer, is_signed;
};

constexpr std::array<Row, kDTypeCount> kRows{{
    {"float32", true, false, true},
    {"float64", true, false, true},
    {"float16", true, false, true},
    {"uint8", false, true, false},
    {"int32", false, true, true},
    {"int8", false, true, true},
    {"int64", false, true, true},
    {"bool", false, false, false},
    {"int16", false, true, true},
    {"uint16", false, true, false},
    {"uint32", false, true, false},
    {"uint64", false, true, false},
    {"bfloat16", true, false, true},
}};

// No enumerator has the number of the last.
constexpr Row kUnknown{"unknown dtype", false, false, false};

const Row& row(DType dtype) noexcept {
  const auto number = static_cast<size_t>(dtype);
  return number < kRows.size() ? kRows[number] : kUnknown;
}

}  // namespace

std::string_view dtype_name(DType dtype) noexcept { return row(dtype).name; }
bool is_floating(DType dtype) noexcept { return row(dtype).floating; }
bool is_integer(DType dtype) noexcept { return row(dtype).integer; }
bool is_signed(DType dtype) noexcept { return row(dtype).is_signed; }

DType parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  fail(ErrorKind::kType,
       "unknown dtype '{}'; known are float16, bfloat16, float32, float64, int8, int16, int32, int64, "
       "uint8, uint16, uint32, uint64 and bool",
       name);
}

}  // namespace headrace
