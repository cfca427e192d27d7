#include <type_traits>

#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/simd/array.h"
#include "op/simd/half.h"

namespace headrace::simd {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

template <class From, class To>
void convert_all(const From* from, To* to, int64_t n) {
  if constexpr (kIsHalf<From> && std::is_same_v<To, float>) {
    widen(from, to, n);
  } else if constexpr (std::is_same_v<From, float> && kIsHalf<To>) {
    narrow(from, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = numeric_cast<To>(from[i]);
  }
}

}  // namespace

void convert(const void* from, DType from_type, void* to, DType to_type, int64_t n) {
  dispatch(from_type, [&]<class From>() {
    dispatch(to_type, [&]<class To>() { convert_all(static_cast<const From*>(from), static_cast<To*>(to), n); });
  });
}

}  // namespace headrace::simd
