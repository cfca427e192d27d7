// Vector kernels of powers, roots and remainders for float32, in double lanes.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/power_kernels.cc"
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

struct Pow : Kind<Opcode::kPow, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return through_double(
        d, [](auto dd, auto u, auto v) HWY_ATTR { return pow_of(dd, u, v); }, a, b);
  }
};

struct Cbrt : Kind<Opcode::kCbrt, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return through_double(
        d, [](auto dd, auto w) HWY_ATTR { return cbrt_of(dd, w, 1.0 / 3); }, x);
  }
};

struct Rcbrt : Kind<Opcode::kRcbrt, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return through_double(
        d, [](auto dd, auto w) HWY_ATTR { return cbrt_of(dd, w, -1.0 / 3); }, x);
  }
};

struct Hypot : Kind<Opcode::kHypot, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return through_double(
        d, [](auto dd, auto u, auto v) HWY_ATTR { return hypot_of(dd, u, v); }, a, b);
  }
};

struct Fmod : Kind<Opcode::kFmod, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return through_double(
        d, [](auto dd, auto u, auto v) HWY_ATTR { return fmod_of(dd, u, v); }, a, b);
  }
};

struct Mod : Kind<Opcode::kMod, 2> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return through_double(
        d, [](auto dd, auto u, auto v) HWY_ATTR { return mod_of(dd, u, v); }, a, b);
  }
};

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kFloat32) add_all_kernels<float, Pow, Cbrt, Rcbrt, Hypot, Fmod, Mod>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_power_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
