#include "op/formula/opcode.h"

#include <array>

namespace headrace {
namespace {

using enum Opcode;

constexpr std::array<OpcodeInfo, kOpcodeCount> kOpcodes = {{
    {kCopy, "copy", 1, 0.04f, 0.04f},
    {kNeg, "neg", 1, 0.04f, 0.04f},
    {kAbs, "abs", 1, 0.04f, 0.04f},
    {kSign, "sign", 1, 0.06f, 0.06f},
    {kSqrt, "sqrt", 1, 0.3f, 2},
    {kRsqrt, "rsqrt", 1, 0.6f, 3},
    {kCbrt, "cbrt", 1, 1.5f, 15},
    {kRcbrt, "rcbrt", 1, 1.8f, 15},
    {kSquare, "square", 1, 0.04f, 0.04f},
    {kExp, "exp", 1, 0.3f, 2},
    {kExp2, "exp2", 1, 0.3f, 2},
    {kExpm1, "expm1", 1, 0.5f, 2},
    {kLog, "log", 1, 0.4f, 3},
    {kLog2, "log2", 1, 0.4f, 3},
    {kLog10, "log10", 1, 0.4f, 3},
    {kLog1p, "log1p", 1, 0.6f, 3},
    {kSin, "sin", 1, 0.6f, 4},
    {kCos, "cos", 1, 0.6f, 4},
    {kTan, "tan", 1, 1.5f, 20},
    {kAsin, "asin", 1, 0.6f, 3},
    {kAcos, "acos", 1, 0.6f, 3},
    {kAtan, "atan", 1, 0.6f, 3},
    {kSinh, "sinh", 1, 0.8f, 4},
    {kCosh, "cosh", 1, 0.8f, 4},
    {kTanh, "tanh", 1, 0.6f, 3},
    {kAsinh, "asinh", 1, 1, 5},
    {kAcosh, "acosh", 1, 1, 5},
    {kAtanh, "atanh", 1, 1, 5},
    {kErf, "erf", 1, 0.8f, 12},
    {kErfinv, "erfinv", 1, 60, 60},
    {kGamma, "gamma", 1, 50, 50},
    {kLgamma, "lgamma", 1, 25, 25},
    {kDigamma, "digamma", 1, 25, 25},
    {kTrigamma, "trigamma", 1, 20, 20},
    {kFloor, "floor", 1, 0.05f, 0.04f},
    {kCeil, "ceil", 1, 0.05f, 0.04f},
    {kTrunc, "trunc", 1, 0.05f, 0.04f},
    {kRound, "round", 1, 0.08f, 0.04f},
    {kRint, "rint", 1, 0.05f, 0.04f},
    {kRintDown, "rint_down", 1, 0.08f, 0.04f},
    {kLogicalNot, "logical_not", 1, 0.05f, 0.05f},
    {kBitNot, "bit_not", 1, 1, 0.04f},
    {kIsNan, "isnan", 1, 0.05f, 0.04f},
    {kIsInf, "isinf", 1, 0.05f, 0.04f},
    {kIsFinite, "isfinite", 1, 0.05f, 0.04f},
    {kToFloat16, "to_float16", 1, 0.1f, 0.04f},
    {kToBfloat16, "to_bfloat16", 1, 0.1f, 0.04f},
    {kToFloat32, "to_float32", 1, 0.1f, 0.04f},
    {kToInt8, "to_int8", 1, 1, 0.1f},
    {kToUint8, "to_uint8", 1, 1, 0.1f},
    {kToInt16, "to_int16", 1, 1, 0.1f},
    {kToUint16, "to_uint16", 1, 1, 0.1f},
    {kToInt32, "to_int32", 1, 1, 0.1f},
    {kToUint32, "to_uint32", 1, 1, 0.1f},
    {kToBool, "to_bool", 1, 0.05f, 0.05f},
    {kAdd, "add", 2, 0.04f, 0.04f},
    {kSub, "sub", 2, 0.04f, 0.04f},
    {kMul, "mul", 2, 0.04f, 0.06f},
    {kDiv, "div", 2, 0.15f, 3},
    {kMod, "mod", 2, 1, 3},
    {kFmod, "fmod", 2, 1, 3},
    {kPow, "pow", 2, 2, 5},
    {kMin, "min", 2, 0.05f, 0.04f},
    {kMax, "max", 2, 0.05f, 0.04f},
    {kHypot, "hypot", 2, 1, 3},
    {kAtan2, "atan2", 2, 20, 20},
    {kCopysign, "copysign", 2, 0.05f, 0.5f},
    {kLdexp, "ldexp", 2, 2, 10},
    {kEq, "eq", 2, 0.05f, 0.05f},
    {kNe, "ne", 2, 0.05f, 0.05f},
    {kLt, "lt", 2, 0.05f, 0.05f},
    {kLe, "le", 2, 0.05f, 0.05f},
    {kLogicalAnd, "logical_and", 2, 0.06f, 0.06f},
    {kLogicalOr, "logical_or", 2, 0.06f, 0.06f},
    {kLogicalXor, "logical_xor", 2, 0.06f, 0.06f},
    {kBitAnd, "bit_and", 2, 1, 0.04f},
    {kBitOr, "bit_or", 2, 1, 0.04f},
    {kBitXor, "bit_xor", 2, 1, 0.04f},
    {kShiftLeft, "shift_left", 2, 1, 0.5f},
    {kShiftRight, "shift_right", 2, 1, 0.5f},
    {kGcd, "gcd", 2, 60, 60},
    {kLcm, "lcm", 2, 60, 60},
    {kSelect, "select", 3, 0.06f, 0.06f},
    {kMulAdd, "mul_add", 3, 0.05f, 0.1f},
    {kMulSub, "mul_sub", 3, 0.05f, 0.1f},
    {kRsubMul, "rsub_mul", 3, 0.05f, 0.1f},
    {kAddMul, "add_mul", 3, 0.05f, 0.1f},
    {kSubMul, "sub_mul", 3, 0.05f, 0.1f},
}};

constexpr bool in_order() {
  for (int i = 0; i < kOpcodeCount; ++i) {
    if (kOpcodes[i].opcode != static_cast<Opcode>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const OpcodeInfo& info(Opcode opcode) noexcept { return kOpcodes[static_cast<size_t>(opcode)]; }

}  // namespace headrace
