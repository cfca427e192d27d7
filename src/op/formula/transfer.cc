#include "op/formula/transfer.h"

#include <algorithm>

#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/simd/half.h"
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

// Plain loops, which the compiler vectorises for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/formula/transfer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

template <class Tile>
constexpr ComputeType kComputeType = std::is_same_v<Tile, float>     ? ComputeType::kFloat32
                                     : std::is_same_v<Tile, double>  ? ComputeType::kFloat64
                                     : std::is_same_v<Tile, int32_t> ? ComputeType::kInt32
                                     : std::is_same_v<Tile, int64_t> ? ComputeType::kInt64
                                                                     : ComputeType::kUint64;

template <class Memory, class Tile>
void load(void* tile, const void* memory, int64_t stride, int64_t n) noexcept {
  auto* out = static_cast<Tile*>(tile);
  const auto* in = static_cast<const Memory*>(memory);
  if constexpr (kIsHalf<Memory> && std::is_same_v<Tile, float>) {
    if (stride == 1) return simd::widen(in, out, n);
  }
  if constexpr (std::is_same_v<Memory, Tile>) {
    if (stride == 1) return static_cast<void>(std::copy_n(in, n, out));
  }
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = numeric_cast<Tile>(in[i]);
  } else if (stride == 0) {
    const Tile value = numeric_cast<Tile>(*in);
    static const Kernel kFill = kernels(kComputeType<Tile>).get(Opcode::kCopy, 1);
    kFill(out, &value, nullptr, nullptr, n);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = numeric_cast<Tile>(in[i * stride]);
  }
}

template <class Tile, class Memory>
void store(const void* tile, void* memory, int64_t stride, int64_t n) noexcept {
  const auto* in = static_cast<const Tile*>(tile);
  auto* out = static_cast<Memory*>(memory);
  if constexpr (kIsHalf<Memory> && std::is_same_v<Tile, float>) {
    if (stride == 1) return simd::narrow(in, out, n);
  }
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = numeric_cast<Memory>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = numeric_cast<Memory>(in[i]);
  }
}

template <class F>
auto dispatch_compute(ComputeType type, F&& f) {
  return dispatch(dtype_of(type), [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
                  std::is_same_v<T, uint64_t>) {
      return f.template operator()<T>();
    } else {
      return f.template operator()<int64_t>();
    }
  });
}

}  // namespace

Load choose_load(DType from, ComputeType to) {
  return dispatch(from, [&]<class Memory>() -> Load {
    return dispatch_compute(to, []<class Tile>() -> Load { return &load<Memory, Tile>; });
  });
}

Store choose_store(ComputeType from, DType to) {
  return dispatch(to, [&]<class Memory>() -> Store {
    return dispatch_compute(from, []<class Tile>() -> Store { return &store<Tile, Memory>; });
  });
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(choose_load);
HWY_EXPORT(choose_store);

Load load_function(DType from, ComputeType to) { return HWY_DYNAMIC_DISPATCH(choose_load)(from, to); }
Store store_function(ComputeType from, DType to) { return HWY_DYNAMIC_DISPATCH(choose_store)(from, to); }

}  // namespace headrace
#endif
