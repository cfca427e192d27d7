#include "collective/fold.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "base/dtype_dispatch.h"
#include "base/half.h"

namespace headrace::collective {
namespace {

constexpr size_t kTile = 1024;  // elements that stay in the first-level cache between the second source and the last

// Sums of integers wrap.
template <class T>
struct WideOf {
  using Type = T;
};
template <std::signed_integral T>
struct WideOf<T> {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct WideOf<Float16> {
  using Type = float;
};
template <>
struct WideOf<Bfloat16> {
  using Type = float;
};

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
// A nan is passed on.
struct Greater {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};
struct Less {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

template <class T, class Wide, class Result, class Combine>
void fold_as(std::byte* target, std::span<const std::byte* const> sources, size_t elements, Combine combine) {
  const size_t last = sources.size() - 1;
  Wide tile[kTile];
  for (size_t begin = 0; begin < elements; begin += kTile) {
    const size_t count = std::min(kTile, elements - begin);
    const auto values_of = [&](size_t source) { return reinterpret_cast<const T*>(sources[source]) + begin; };
    auto* const result = reinterpret_cast<Result*>(target) + begin;
    const T* const first = values_of(0);
    const T* const second = values_of(std::min(last, size_t{1}));
    const T* const newest = values_of(last);
    if (last == 0) {
      for (size_t i = 0; i < count; ++i) result[i] = static_cast<Result>(static_cast<Wide>(first[i]));
    } else if (last == 1) {
      for (size_t i = 0; i < count; ++i)
        result[i] = static_cast<Result>(combine(static_cast<Wide>(first[i]), static_cast<Wide>(second[i])));
    } else {
      for (size_t i = 0; i < count; ++i) tile[i] = combine(static_cast<Wide>(first[i]), static_cast<Wide>(second[i]));
      for (size_t source = 2; source < last; ++source) {
        const T* const values = values_of(source);
        for (size_t i = 0; i < count; ++i) tile[i] = combine(tile[i], static_cast<Wide>(values[i]));
      }
      for (size_t i = 0; i < count; ++i)
        result[i] = static_cast<Result>(combine(tile[i], static_cast<Wide>(newest[i])));
    }
  }
}

bool is_narrow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

}  // namespace

const char* fold_name(Fold fold) noexcept { return fold == Fold::kSum ? "sum" : fold == Fold::kMax ? "max" : "min"; }

DType partial_dtype(Fold fold, DType dtype) noexcept {
  return fold == Fold::kSum && is_narrow(dtype) ? DType::kFloat32 : dtype;
}

void fold_into(std::byte* target, DType to, std::span<const std::byte* const> sources, DType from, Fold fold,
               size_t elements) {
  if (to != from) {
    const auto convert = [&]<class Narrow>() {
      if (to == DType::kFloat32) return fold_as<Narrow, float, float>(target, sources, elements, Add());
      fold_as<float, float, Narrow>(target, sources, elements, Add());
    };
    const bool is_half = from == DType::kFloat16 || to == DType::kFloat16;
    return is_half ? convert.template operator()<Float16>() : convert.template operator()<Bfloat16>();
  }
  dispatch(from, [&]<class T>() {
    using Wide = typename WideOf<T>::Type;
    using Compared = std::conditional_t<std::is_same_v<Wide, float>, float, T>;
    if (fold == Fold::kSum) return fold_as<T, Wide, T>(target, sources, elements, Add());
    if (fold == Fold::kMax) return fold_as<T, Compared, T>(target, sources, elements, Greater());
    fold_as<T, Compared, T>(target, sources, elements, Less());
  });
}

}  // namespace headrace::collective
