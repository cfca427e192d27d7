// Vector kernels that round float32 values to what a half type can hold.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/narrowing_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void add(KernelTable&, ComputeType) {}  // the lane kernels serve there
#else

// By hand, to nearest even: Highway's demotion truncates.
struct ToBfloat16 : Kind<Opcode::kToBfloat16, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const hn::RebindToUnsigned<D> bits;
    const auto word = hn::BitCast(bits, x);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(bits, 1));
    const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(bits, 0x7fff)));
    const auto top = hn::Set(bits, 0xffff0000u);
    const auto quiet = hn::Or(word, hn::Set(bits, 0x400000));
    return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, hn::And(quiet, top)), hn::BitCast(d, hn::And(rounded, top)));
  }
};

void add(KernelTable& table, ComputeType type) {
  if (type == ComputeType::kFloat32) add_all_kernels<float, ToBfloat16>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_narrowing_kernels(KernelTable& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
