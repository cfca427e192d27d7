// The compute types of formulas as C++ types.
#pragma once

#include <type_traits>

#include "op/formula/opcode.h"

namespace headrace::test {

template <class T>
inline constexpr ComputeType kTypeOf = std::is_same_v<T, float>     ? ComputeType::kFloat32
                                       : std::is_same_v<T, double>  ? ComputeType::kFloat64
                                       : std::is_same_v<T, int32_t> ? ComputeType::kInt32
                                       : std::is_same_v<T, int64_t> ? ComputeType::kInt64
                                                                    : ComputeType::kUint64;

}  // namespace headrace::test
