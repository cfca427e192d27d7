#include "op/simd/half.h"

#include <cstring>

#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/half.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/half-inl.h"
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

template <class Half, class Convert>
HWY_INLINE void widen_all(const Half* from, float* to, int64_t count, Convert convert) {
  const hn::ScalableTag<float> d;
  const auto n = static_cast<size_t>(count), width = hn::Lanes(d);
  const auto* words = reinterpret_cast<const uint16_t*>(from);
  const hn::Rebind<uint16_t, decltype(d)> halves;
  size_t i = 0;
  for (; i + width <= n; i += width) hn::StoreU(convert(d, hn::LoadU(halves, words + i)), d, to + i);
  if (i == n) return;
  uint16_t rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, words + i, (n - i) * sizeof(uint16_t));
  store_first(convert(d, hn::LoadU(halves, rest)), d, to + i, n - i);
}

template <class Half, class Convert>
HWY_INLINE void narrow_all(const float* from, Half* to, int64_t count, Convert convert) {
  using D = hn::ScalableTag<float>;
  const D d;
  const auto n = static_cast<size_t>(count), width = hn::Lanes(d);
  auto* words = reinterpret_cast<uint16_t*>(to);
  const hn::Rebind<uint16_t, D> halves;
  size_t i = 0;
  for (; i + width <= n; i += width) hn::StoreU(convert(d, hn::LoadU(d, from + i)), halves, words + i);
  if (i == n) return;
  uint16_t rest[hn::MaxLanes(d)];
  hn::StoreU(convert(d, FromMemory<D>(d, from).load_first(d, i, n - i)), halves, rest);
  std::memcpy(words + i, rest, (n - i) * sizeof(uint16_t));
}

void widen_float16(const Float16* from, float* to, int64_t n) {
  widen_all(from, to, n, [](auto d, auto words) HWY_ATTR { return float16_to_float(d, words); });
}

void widen_bfloat16(const Bfloat16* from, float* to, int64_t n) {
  widen_all(from, to, n, [](auto d, auto words) HWY_ATTR { return bfloat16_to_float(d, words); });
}

void narrow_float16(const float* from, Float16* to, int64_t n) {
  narrow_all(from, to, n, [](auto d, auto x) HWY_ATTR { return float_to_float16(d, x); });
}

void narrow_bfloat16(const float* from, Bfloat16* to, int64_t n) {
  narrow_all(from, to, n, [](auto d, auto x) HWY_ATTR { return float_to_bfloat16(d, x); });
}

#if HWY_TARGET == HWY_SCALAR
void add(OpcodeKernels&, ComputeType) {}  // the lane kernels serve there
#else

struct ToFloat16 : Kind<Opcode::kToFloat16, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return float16_to_float(d, float_to_float16(d, x));
  }
};

struct ToBfloat16 : Kind<Opcode::kToBfloat16, 1> {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return bfloat16_to_float(d, float_to_bfloat16(d, x));
  }
};

void add(OpcodeKernels& table, ComputeType type) {
  if (type == ComputeType::kFloat32) add_all_kernels<float, ToFloat16, ToBfloat16>(table);
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);
HWY_EXPORT(widen_float16);
HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(narrow_float16);
HWY_EXPORT(narrow_bfloat16);

void add_half_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

namespace simd {

void widen(const Float16* from, float* to, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(widen_float16)(from, to, n); }
void widen(const Bfloat16* from, float* to, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(widen_bfloat16)(from, to, n); }
void narrow(const float* from, Float16* to, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(narrow_float16)(from, to, n); }
void narrow(const float* from, Bfloat16* to, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(narrow_bfloat16)(from, to, n); }

}  // namespace simd
}  // namespace headrace
#endif
