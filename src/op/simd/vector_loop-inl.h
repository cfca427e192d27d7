// Turns the meaning of an instruction on one vector into kernels over arrays. Compiled once per instruction set.
//
// An instruction is a struct derived from Kind with a `static V apply(D d, V a [, V b [, V c]])`. Remainders go
// through the same vector code as everything else, so that a value's bits do not depend on where it stands.
#if defined(HEADRACE_OP_SIMD_VECTOR_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_OP_SIMD_VECTOR_LOOP_INL_H_
#undef HEADRACE_OP_SIMD_VECTOR_LOOP_INL_H_
#else
#define HEADRACE_OP_SIMD_VECTOR_LOOP_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>
#include "op/simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What every instruction states about itself.
template <Opcode op, int arity>
struct Kind {
  static constexpr Opcode kOpcode = op;
  static constexpr int kArity = arity;
};

// Operands: a vector at a time from memory, or one value for all.
template <class D>
struct FromMemory {
  using T = hn::TFromD<D>;
  HWY_INLINE FromMemory(D, const void* pointer) : data(static_cast<const T*>(pointer)) {}
  HWY_INLINE hn::Vec<D> load(D d, size_t i) const { return hn::LoadU(d, data + i); }
  HWY_INLINE hn::Vec<D> load_first(D d, size_t i, size_t n) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    alignas(64) T lanes[hn::MaxLanes(D())] = {};
    for (size_t k = 0; k < n; ++k) lanes[k] = data[i + k];
    return hn::Load(d, lanes);
#else
    return hn::MaskedLoad(hn::FirstN(d, n), d, data + i);
#endif
  }
  const T* data;
};

template <class D>
struct Repeated {
  using T = hn::TFromD<D>;
  HWY_INLINE Repeated(D d, const void* pointer) : value(hn::Set(d, *static_cast<const T*>(pointer))) {}
  HWY_INLINE hn::Vec<D> load(D, size_t) const { return value; }
  HWY_INLINE hn::Vec<D> load_first(D, size_t, size_t) const { return value; }
  hn::Vec<D> value;
};

template <class D>
HWY_INLINE void store_first(hn::Vec<D> value, D d, hn::TFromD<D>* to, size_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  alignas(64) hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(value, d, lanes);
  for (size_t k = 0; k < n; ++k) to[k] = lanes[k];
#else
  hn::BlendedStore(value, hn::FirstN(d, n), d, to);
#endif
}

template <class Instruction, class D, class... Operands>
HWY_INLINE void vector_loop(D d, hn::TFromD<D>* out, size_t n, Operands... operands) {
  const size_t width = hn::Lanes(d);
  size_t i = 0;
  for (; i + width <= n; i += width) hn::StoreU(Instruction::apply(d, operands.load(d, i)...), d, out + i);
  if (i < n) store_first(Instruction::apply(d, operands.load_first(d, i, n - i)...), d, out + i, n - i);
}

template <class D, bool scalar>
using OperandOf = std::conditional_t<scalar, Repeated<D>, FromMemory<D>>;

template <class Instruction, class T, int form>
void vector_kernel(void* result, const void* a, [[maybe_unused]] const void* b, [[maybe_unused]] const void* c,
                   int64_t count) noexcept {
  using D = hn::ScalableTag<T>;
  const D d;
  auto* out = static_cast<T*>(result);
  const auto n = static_cast<size_t>(count);
  const OperandOf<D, (form & 1) != 0> x(d, a);
  if constexpr (Instruction::kArity == 1) {
    vector_loop<Instruction>(d, out, n, x);
  } else {
    const OperandOf<D, (form & 2) != 0> y(d, b);
    if constexpr (Instruction::kArity == 2) {
      vector_loop<Instruction>(d, out, n, x, y);
    } else {
      vector_loop<Instruction>(d, out, n, x, y, OperandOf<D, (form & 4) != 0>(d, c));
    }
  }
}

// Puts the kernels of one instruction into a table, in every form that is worth having.
template <class Instruction, class T>
void add_kernels(OpcodeKernels& table) {
  constexpr Opcode op = Instruction::kOpcode;
  table.set(op, 0, &vector_kernel<Instruction, T, 0>);
  if constexpr (Instruction::kArity == 2) {
    table.set(op, 1, &vector_kernel<Instruction, T, 1>);
    table.set(op, 2, &vector_kernel<Instruction, T, 2>);
  }
  if constexpr (Instruction::kArity == 3) {
    table.set(op, 2, &vector_kernel<Instruction, T, 2>);
    table.set(op, 4, &vector_kernel<Instruction, T, 4>);
    table.set(op, 6, &vector_kernel<Instruction, T, 6>);
  }
}

template <class T, class... Instructions>
void add_all_kernels(OpcodeKernels& table) {
  (add_kernels<Instructions, T>(table), ...);
}

}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
