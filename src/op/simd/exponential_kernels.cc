// Vector kernels of exponentials and logarithms, hyperbolic functions included, and of erf.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/exponential_kernels.cc"
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

struct Exp : Kind<Opcode::kExp, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return exp_of(d, x);
  }
};

struct Expm1 : Kind<Opcode::kExpm1, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return expm1_of(d, x);
  }
};

struct Log : Kind<Opcode::kLog, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return log_of(d, x);
  }
};

struct Log1p : Kind<Opcode::kLog1p, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return log1p_of(d, x);
  }
};

struct Tanh : Kind<Opcode::kTanh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return tanh_of(d, x);
  }
};

struct Erf : Kind<Opcode::kErf, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return erf_of(d, x);
  }
};

struct Sinh : Kind<Opcode::kSinh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return sinh_of(d, x);
  }
};

struct Cosh : Kind<Opcode::kCosh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return cosh_of(d, x);
  }
};

struct Asinh : Kind<Opcode::kAsinh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return asinh_of(d, x);
  }
};

struct Acosh : Kind<Opcode::kAcosh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return acosh_of(d, x);
  }
};

struct Atanh : Kind<Opcode::kAtanh, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return atanh_of(d, x);
  }
};

// Every function has one meaning in double lanes; where float32 lanes would lose too much it takes that.
template <class Instruction>
struct Wide : Kind<Instruction::kOpcode, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return through_double(
        d, [](auto wide, auto w) HWY_ATTR { return Instruction::apply(wide, w); }, x);
  }
};

struct Exp2 : Kind<Opcode::kExp2, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return exp_of(d, hn::Mul(x, hn::Set(d, 0.693147180559945309417)));
  }
};

struct Log2 : Kind<Opcode::kLog2, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Mul(log_of(d, x), hn::Set(d, 1.44269504088896340736));
  }
};

struct Log10 : Kind<Opcode::kLog10, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Mul(log_of(d, x), hn::Set(d, 0.434294481903251827651));
  }
};

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kFloat32) {
    add_all_kernels<float, Exp, Expm1, Log, Log1p, Tanh, Erf>(table);
    add_all_kernels<float, Wide<Sinh>, Wide<Cosh>, Wide<Asinh>, Wide<Acosh>, Wide<Atanh>>(table);
    add_all_kernels<float, Wide<Exp2>, Wide<Log2>, Wide<Log10>>(table);
  }
  if (type == ComputeType::kFloat64)
    add_all_kernels<double, Exp, Expm1, Log, Log1p, Tanh, Sinh, Cosh, Asinh, Acosh, Atanh>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_exponential_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
