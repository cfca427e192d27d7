// Lanes picked out of a vector. Compiled once per instruction set.
//
// Highway 1.0's Compress copies its table to the stack at every call, of 32 bits before AVX-512 and of 64 bits
// everywhere on x86: these do not.
#if defined(HEADRACE_OP_SIMD_COMPRESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_COMPRESS_INL_H_
#undef HEADRACE_OP_SIMD_COMPRESS_INL_H_
#else
#define HEADRACE_OP_SIMD_COMPRESS_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#ifndef HEADRACE_OP_SIMD_COMPRESS_TABLES_
#define HEADRACE_OP_SIMD_COMPRESS_TABLES_
namespace headrace {

// Row b: the places of the bits of b that are set, then those of the others.
inline constexpr auto kSetPlacesFirst = [] {
  std::array<std::array<uint8_t, 8>, 256> rows = {};
  for (size_t bits = 0; bits < 256; ++bits) {
    size_t filled = 0;
    for (const size_t wanted : {1, 0})
      for (uint8_t place = 0; place < 8; ++place)
        if ((bits >> place & 1) == wanted) rows[bits][filled++] = place;
  }
  return rows;
}();

// Each of the four bits twice.
inline constexpr uint8_t kDoubledBits[] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
                                           0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};

}  // namespace headrace
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The widest vectors that `compressed` takes.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
template <class T>
using CompressTag = hn::CappedTag<T, 64 / sizeof(T)>;
#else
template <class T>
using CompressTag = hn::CappedTag<T, 32 / sizeof(T)>;
#endif

// The lanes of 32 or 64 bits for which `chosen` is set, in order, at the low end; what lies behind them is unspecified.
template <class D, class V, class M>
HWY_INLINE V compressed([[maybe_unused]] D d, V v, [[maybe_unused]] M chosen) {
#if HWY_TARGET == HWY_SCALAR
  return v;  // the only lane
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const hn::RebindToUnsigned<D> du;
  const auto raw = hn::BitCast(du, v).raw;
  if constexpr (sizeof(hn::TFromD<D>) == 8)
    return hn::BitCast(d, hn::Vec<decltype(du)>{_mm512_maskz_compress_epi64(chosen.raw, raw)});
  else
    return hn::BitCast(d, hn::Vec<decltype(du)>{_mm512_maskz_compress_epi32(chosen.raw, raw)});
#else
  const hn::Repartition<uint32_t, D> du;
  const hn::Rebind<uint8_t, decltype(du)> bytes;
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, chosen, bits);
  const auto& row = kSetPlacesFirst[sizeof(hn::TFromD<D>) == 8 ? kDoubledBits[bits[0] & 15] : bits[0]];
  const auto places = hn::PromoteTo(du, hn::LoadU(bytes, row.data()));
  return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(du, v), hn::IndicesFromVec(du, places)));
#endif
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
