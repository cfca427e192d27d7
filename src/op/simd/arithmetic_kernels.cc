// Vector kernels of arithmetic, rounding and selection for float32 and float64.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/arithmetic_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void add(OpcodeKernels&, ComputeType) {}  // the lane kernels serve there
#else

struct Copy : Kind<Opcode::kCopy, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return x;
  }
};

struct Neg : Kind<Opcode::kNeg, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Xor(x, hn::SignBit(d));
  }
};

struct Abs : Kind<Opcode::kAbs, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Abs(x);
  }
};

struct Sign : Kind<Opcode::kSign, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const V nonzero = hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(one, x));
    return hn::IfThenElse(hn::Eq(x, zero), zero, nonzero);
  }
};

struct Sqrt : Kind<Opcode::kSqrt, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Sqrt(x);
  }
};

struct Rsqrt : Kind<Opcode::kRsqrt, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  }
};

struct Square : Kind<Opcode::kSquare, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Mul(x, x);
  }
};

struct Floor : Kind<Opcode::kFloor, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Floor(x);
  }
};

struct Ceil : Kind<Opcode::kCeil, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Ceil(x);
  }
};

struct Trunc : Kind<Opcode::kTrunc, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Trunc(x);
  }
};

struct Round : Kind<Opcode::kRound, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V whole = hn::Trunc(x), rest = hn::Abs(hn::Sub(x, whole));
    const V away = hn::Add(whole, hn::CopySign(hn::Set(d, 1), x));
    return hn::IfThenElse(hn::Ge(rest, hn::Set(d, 0.5)), away, whole);
  }
};

struct Rint : Kind<Opcode::kRint, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Round(x);
  }
};

struct RintDown : Kind<Opcode::kRintDown, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    const V down = hn::Floor(x), up = hn::Ceil(x);
    return hn::IfThenElse(hn::Le(hn::Sub(x, down), hn::Sub(up, x)), down, up);
  }
};

struct Add : Kind<Opcode::kAdd, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Sub : Kind<Opcode::kSub, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Sub(a, b);
  }
};

struct Mul : Kind<Opcode::kMul, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
};

struct Div : Kind<Opcode::kDiv, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Div(a, b);
  }
};

// The comparison is false when b is NaN, and then b is the answer.
struct Min : Kind<Opcode::kMin, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
  }
};

struct Max : Kind<Opcode::kMax, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
  }
};

struct Copysign : Kind<Opcode::kCopysign, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::CopySign(a, b);
  }
};

struct Select : Kind<Opcode::kSelect, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V condition, V a, V b) {
    return hn::IfThenElse(hn::Eq(condition, hn::Zero(d)), b, a);
  }
};

struct MulAdd : Kind<Opcode::kMulAdd, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b, V c) {
    return hn::Add(hn::Mul(a, b), c);
  }
};

struct MulSub : Kind<Opcode::kMulSub, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b, V c) {
    return hn::Sub(hn::Mul(a, b), c);
  }
};

struct RsubMul : Kind<Opcode::kRsubMul, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b, V c) {
    return hn::Sub(c, hn::Mul(a, b));
  }
};

struct AddMul : Kind<Opcode::kAddMul, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b, V c) {
    return hn::Mul(hn::Add(a, b), c);
  }
};

struct SubMul : Kind<Opcode::kSubMul, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b, V c) {
    return hn::Mul(hn::Sub(a, b), c);
  }
};

template <class T>
void add_real(OpcodeKernels& table) {
  add_all_kernels<T, Copy, Neg, Abs, Sign, Sqrt, Rsqrt, Square, Floor, Ceil, Trunc, Round, Rint, RintDown, Add, Sub,
                  Mul, Div, Min, Max, Copysign, Select, MulAdd, MulSub, RsubMul, AddMul, SubMul>(table);
  table.set(Opcode::kCopy, 1, &vector_kernel<Copy, T, 1>);  // fills
}

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kFloat32) add_real<float>(table);
  if (type == ComputeType::kFloat64) add_real<double>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_arithmetic_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
