#include "ops/sparse/row_products.h"

#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sparse/row_products.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/for_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Four vectors of sums stay in registers: each element of the csr row is read once for them.
template <class T>
HWY_INLINE void sum(const T* HWY_RESTRICT values, const int64_t* HWY_RESTRICT places, int64_t count,
                    const T* HWY_RESTRICT rows, int64_t width, T* HWY_RESTRICT to) noexcept {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), block = 4 * lanes;
  int64_t j = 0;
  for (; j + block <= width; j += block) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = hn::Set(d, values[i]);
      const T* const row = rows + places[i] * width + j;
      a = hn::MulAdd(value, hn::LoadU(d, row), a);
      b = hn::MulAdd(value, hn::LoadU(d, row + lanes), b);
      c = hn::MulAdd(value, hn::LoadU(d, row + 2 * lanes), c);
      e = hn::MulAdd(value, hn::LoadU(d, row + 3 * lanes), e);
    }
    hn::StoreU(a, d, to + j);
    hn::StoreU(b, d, to + j + lanes);
    hn::StoreU(c, d, to + j + 2 * lanes);
    hn::StoreU(e, d, to + j + 3 * lanes);
  }
  for_vectors<T>(width - j, [&](auto tag, size_t at) HWY_ATTR {
    const int64_t column = j + static_cast<int64_t>(at);
    auto total = hn::Zero(tag);
    for (int64_t i = 0; i < count; ++i)
      total = hn::MulAdd(hn::Set(tag, values[i]), hn::LoadU(tag, rows + places[i] * width + column), total);
    hn::StoreU(total, tag, to + j + at);
  });
}

template <class T>
void sums(const T* HWY_RESTRICT values, const int64_t* HWY_RESTRICT places, const int64_t* HWY_RESTRICT begins,
          int64_t count, const T* HWY_RESTRICT rows, int64_t width, T* HWY_RESTRICT to) noexcept {
  if (width == 1) {
    for (int64_t r = 0; r < count; ++r) {
      T total = 0;
      for (int64_t i = begins[r]; i < begins[r + 1]; ++i) total += values[i] * rows[places[i]];
      to[r] = total;
    }
    return;
  }
  for (int64_t r = 0; r < count; ++r)
    sum(values + begins[r], places + begins[r], begins[r + 1] - begins[r], rows, width, to + r * width);
}

template <class T>
void scatter(const T* HWY_RESTRICT values, const int64_t* HWY_RESTRICT places, int64_t count, const T* HWY_RESTRICT row,
             int64_t width, T* HWY_RESTRICT to) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    T* const sums = to + places[i] * width;
    const T value = values[i];
    for_vectors<T>(width, [&](auto tag, size_t j) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::Set(tag, value), hn::LoadU(tag, row + j), hn::LoadU(tag, sums + j)), tag, sums + j);
    });
  }
}

}  // namespace

RowProducts<float> products_of_floats() { return {sums<float>, scatter<float>}; }
RowProducts<double> products_of_doubles() { return {sums<double>, scatter<double>}; }

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(products_of_floats);
HWY_EXPORT(products_of_doubles);

template <>
const RowProducts<float>& row_products<float>() noexcept {
  static const RowProducts<float> found = HWY_DYNAMIC_DISPATCH(products_of_floats)();
  return found;
}

template <>
const RowProducts<double>& row_products<double>() noexcept {
  static const RowProducts<double> found = HWY_DYNAMIC_DISPATCH(products_of_doubles)();
  return found;
}

}  // namespace headrace
#endif
