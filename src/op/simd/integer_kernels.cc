// Vector kernels of arithmetic, bits and selection for the integer compute types.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/integer_kernels.cc"
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
    return hn::Sub(hn::Zero(d), x);
  }
};

struct Abs : Kind<Opcode::kAbs, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Zero(d), x), x);
  }
};

struct Sign : Kind<Opcode::kSign, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V zero = hn::Zero(d);
    const V positive = hn::IfThenElseZero(hn::Lt(zero, x), hn::Set(d, 1));
    return hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, -1), positive);
  }
};

struct BitNot : Kind<Opcode::kBitNot, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Not(x);
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

struct Square : Kind<Opcode::kSquare, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Mul(x, x);
  }
};

struct Min : Kind<Opcode::kMin, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};

struct Max : Kind<Opcode::kMax, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};

struct BitAnd : Kind<Opcode::kBitAnd, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};

struct BitOr : Kind<Opcode::kBitOr, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};

struct BitXor : Kind<Opcode::kBitXor, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

struct Select : Kind<Opcode::kSelect, 3> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V condition, V a, V b) {
    return hn::IfThenElse(hn::Eq(condition, hn::Zero(d)), b, a);
  }
};

template <class T>
void add_integer(OpcodeKernels& table) {
  add_all_kernels<T, Copy, Neg, Abs, Sign, BitNot, Add, Sub, Mul, Square, Min, Max, BitAnd, BitOr, BitXor, Select>(
      table);
  table.set(Opcode::kCopy, 1, &vector_kernel<Copy, T, 1>);  // fills
}

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kInt32) add_integer<int32_t>(table);
  if (type == ComputeType::kInt64) add_integer<int64_t>(table);
  if (type == ComputeType::kUint64) add_integer<uint64_t>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_integer_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
