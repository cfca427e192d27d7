// Vector kernels of trigonometric functions.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/trigonometric_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/elementary-inl.h"
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void add(OpcodeKernels&, ComputeType) {}  // the lane kernels serve there
#else

struct Sin : Kind<Opcode::kSin, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return sin_of(d, x);
  }
};

struct Cos : Kind<Opcode::kCos, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return cos_of(d, x);
  }
};

struct Tan : Kind<Opcode::kTan, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return tan_of(d, x);
  }
};

struct Asin : Kind<Opcode::kAsin, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return asin_of(d, x);
  }
};

struct Acos : Kind<Opcode::kAcos, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return acos_of(d, x);
  }
};

struct Atan : Kind<Opcode::kAtan, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return atan_of(d, x);
  }
};

template <class Instruction>
struct Wide : Kind<Instruction::kOpcode, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return through_double(
        d, [](auto wide, auto w) HWY_ATTR { return Instruction::apply(wide, w); }, x);
  }
};

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kFloat32) {
    add_all_kernels<float, Sin, Cos, Wide<Tan>, Wide<Asin>, Wide<Acos>, Wide<Atan>>(table);
  }
  if (type == ComputeType::kFloat64) add_all_kernels<double, Sin, Cos, Tan, Asin, Acos, Atan>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_trigonometric_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
