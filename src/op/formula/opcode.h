// The instruction set of formulas: the one list of what an element-by-element program can do. Values, usable anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace {

// What a program computes in. float16 and bfloat16 arrays compute in float32, small integers and bool in int32,
// uint32 in int64.
enum class ComputeType : uint8_t { kFloat32, kFloat64, kInt32, kInt64, kUint64 };
inline constexpr int kComputeTypeCount = 5;

constexpr size_t item_size(ComputeType type) noexcept {
  return type == ComputeType::kFloat32 || type == ComputeType::kInt32 ? 4 : 8;
}

// Comparisons and logic give 0 or 1 in the compute type. min and max pass NaN on. mod has the sign of the divisor
// (Python), fmod that of the dividend (C). round takes halves away from zero, rint to even, rint_down towards minus
// infinity. Integers: arithmetic wraps, x / 0 and x mod 0 are 0, functions compute in double and truncate.
// The to_* instructions give the value that storing and loading again would give. The paired instructions round after
// each of their two operations: they are what the two would give one after the other, with one pass less over the tile.
enum class Opcode : uint8_t {
  kCopy,
  kNeg,
  kAbs,
  kSign,
  kSqrt,
  kRsqrt,
  kCbrt,
  kRcbrt,
  kSquare,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfinv,
  kGamma,
  kLgamma,
  kDigamma,
  kTrigamma,
  kFloor,
  kCeil,
  kTrunc,
  kRound,
  kRint,
  kRintDown,
  kLogicalNot,
  kBitNot,
  kIsNan,
  kIsInf,
  kIsFinite,
  kToFloat16,
  kToBfloat16,
  kToFloat32,
  kToInt8,
  kToUint8,
  kToInt16,
  kToUint16,
  kToInt32,
  kToUint32,
  kToBool,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFmod,
  kPow,
  kMin,
  kMax,
  kHypot,
  kAtan2,
  kCopysign,
  kLdexp,
  kEq,
  kNe,
  kLt,
  kLe,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kGcd,
  kLcm,
  kSelect,
  kMulAdd,   // a * b + c
  kMulSub,   // a * b - c
  kRsubMul,  // c - a * b
  kAddMul,   // (a + b) * c
  kSubMul,   // (a - b) * c
};
inline constexpr int kOpcodeCount = static_cast<int>(Opcode::kSubMul) + 1;

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;
  uint8_t arity;
  float float_cost;    // nanoseconds per element in float32, operands in the first-level cache
  float integer_cost;  // the same in int32
};

// In the order of the enumeration (checked where it is defined).
const OpcodeInfo& info(Opcode opcode) noexcept;

}  // namespace headrace
