#include "collective/fold.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "base/dtype_dispatch.h"
#include "base/half.h"

namespace headrace::collective {
namespace {

constexpr size_t kTile = 1024;  // elements that stay in the first-level cache from source to source

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

template <class T, class Wide, class Combine>
void fold_as(std::byte* target, std::span<const std::byte* const> sources, size_t elements, Combine combine) {
  Wide tile[kTile];
  for (size_t begin = 0; begin < elements; begin += kTile) {
    const size_t count = std::min(kTile, elements - begin);
    const auto* const first = reinterpret_cast<const T*>(sources[0]) + begin;
    for (size_t i = 0; i < count; ++i) tile[i] = static_cast<Wide>(first[i]);
    for (const std::byte* source : sources.subspan(1)) {
      const auto* const values = reinterpret_cast<const T*>(source) + begin;
      for (size_t i = 0; i < count; ++i) tile[i] = combine(tile[i], static_cast<Wide>(values[i]));
    }
    auto* const result = reinterpret_cast<T*>(target) + begin;
    for (size_t i = 0; i < count; ++i) result[i] = static_cast<T>(tile[i]);
  }
}

}  // namespace

const char* fold_name(Fold fold) noexcept { return fold == Fold::kSum ? "sum" : fold == Fold::kMax ? "max" : "min"; }

void fold_into(std::byte* target, std::span<const std::byte* const> sources, Fold fold, DType dtype, size_t elements) {
  dispatch(dtype, [&]<class T>() {
    using Wide = typename WideOf<T>::Type;
    using Compared = std::conditional_t<std::is_same_v<Wide, float>, float, T>;
    if (fold == Fold::kSum) return fold_as<T, Wide>(target, sources, elements, Add());
    if (fold == Fold::kMax) return fold_as<T, Compared>(target, sources, elements, Greater());
    fold_as<T, Compared>(target, sources, elements, Less());
  });
}

}  // namespace headrace::collective
