#include "hardware/kernels.h"

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hardware/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::hardware::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

uint64_t read_all(const std::byte* data, size_t bytes) {
  const hn::ScalableTag<uint64_t> d;
  const size_t step = hn::Lanes(d) * sizeof(uint64_t);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  const auto load = [&](size_t i) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const uint64_t*>(data + i)); };
  for (size_t i = 0; i + 4 * step <= bytes; i += 4 * step) {
    a = hn::Add(a, load(i));
    b = hn::Add(b, load(i + step));
    c = hn::Add(c, load(i + 2 * step));
    e = hn::Add(e, load(i + 3 * step));
  }
  alignas(64) uint64_t lanes[hn::MaxLanes(d)];
  hn::Store(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, lanes);
  uint64_t sum = 0;
  for (size_t i = 0; i < hn::Lanes(d); ++i) sum += lanes[i];
  return sum;
}

int64_t add_vectors(int64_t times) {
  const hn::ScalableTag<float> d;
  volatile float one = 1;  // not known to the compiler
  const auto v = hn::Set(d, one);
  auto s0 = v, s1 = v, s2 = v, s3 = v, s4 = v, s5 = v, s6 = v, s7 = v;
  for (int64_t i = 0; i < times; ++i) {
    s0 = hn::Add(s0, v);
    s1 = hn::Add(s1, v);
    s2 = hn::Add(s2, v);
    s3 = hn::Add(s3, v);
    s4 = hn::Add(s4, v);
    s5 = hn::Add(s5, v);
    s6 = hn::Add(s6, v);
    s7 = hn::Add(s7, v);
  }
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  volatile float sum = hn::GetLane(hn::Add(low, high));
  static_cast<void>(sum);
  return times * 8 * static_cast<int64_t>(hn::Lanes(d));
}

float multiply_add_chain(float x, int64_t times) {
  const hn::ScalableTag<float> d;
  volatile float one = 1, zero = 0;
  const auto a = hn::Set(d, one), b = hn::Set(d, zero);
  auto v = hn::Set(d, x);
  for (int64_t i = 0; i < times; ++i) v = hn::MulAdd(v, a, b);
  return hn::GetLane(v);
}

}  // namespace
}  // namespace headrace::hardware::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::hardware {

HWY_EXPORT(read_all);
HWY_EXPORT(add_vectors);
HWY_EXPORT(multiply_add_chain);

uint64_t read_all(const std::byte* data, size_t bytes) noexcept { return HWY_DYNAMIC_DISPATCH(read_all)(data, bytes); }
int64_t add_vectors(int64_t times) noexcept { return HWY_DYNAMIC_DISPATCH(add_vectors)(times); }
float multiply_add_chain(float x, int64_t times) noexcept { return HWY_DYNAMIC_DISPATCH(multiply_add_chain)(x, times); }

}  // namespace headrace::hardware
#endif
