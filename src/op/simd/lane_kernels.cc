// Kernels that go lane by lane through the scalar meaning of each instruction: complete, and the fallback for what has
// no vector kernel.
#include <utility>

#include "op/formula/scalar.h"
#include "op/simd/kernels.h"

namespace headrace {
namespace {

template <Opcode op, class T>
void lanes(void* result, const void* a, const void* b, const void* c, int64_t n) noexcept {
  auto* out = static_cast<T*>(result);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  const auto* z = static_cast<const T*>(c);
  constexpr int kArity = 1 + (op >= Opcode::kAdd) + (op >= Opcode::kSelect);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = scalar::apply<op, T>(x[i], kArity > 1 ? y[i] : T{}, kArity > 2 ? z[i] : T{});
  }
}

// A copy of a scalar fills.
template <class T>
void fill(void* result, const void* a, const void*, const void*, int64_t n) noexcept {
  auto* out = static_cast<T*>(result);
  const T value = *static_cast<const T*>(a);
  for (int64_t i = 0; i < n; ++i) out[i] = value;
}

template <class T, size_t... i>
void add_all(OpcodeKernels& table, std::index_sequence<i...>) {
  (table.set(static_cast<Opcode>(i), 0, &lanes<static_cast<Opcode>(i), T>), ...);
  table.set(Opcode::kCopy, 1, &fill<T>);
}

}  // namespace

void add_lane_kernels(OpcodeKernels& table, ComputeType type) {
  constexpr auto kAll = std::make_index_sequence<kOpcodeCount>();
  switch (type) {
    case ComputeType::kFloat32:
      return add_all<float>(table, kAll);
    case ComputeType::kFloat64:
      return add_all<double>(table, kAll);
    case ComputeType::kInt32:
      return add_all<int32_t>(table, kAll);
    case ComputeType::kInt64:
      return add_all<int64_t>(table, kAll);
    case ComputeType::kUint64:
      return add_all<uint64_t>(table, kAll);
  }
}

}  // namespace headrace
