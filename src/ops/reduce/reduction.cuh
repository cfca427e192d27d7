// Reductions over any axes. The source that is made for one (reduction_cuda.cc) has structs of its formulas, as
// op/formula/device/pointwise.cuh says, Prologue and Epilogue, and
//
//   struct Reduce {
//     using Prologue, Epilogue;
//     using Held = Epilogue::Compute;                   // what partial results are held in
//     static constexpr Combine kCombine;
//     static constexpr int kInputs, kKept, kReduced;    // dimensions, at least one of each kind
//     static constexpr bool kIsWhole;                   // otherwise results stay as they are held
//   };
#pragma once

#include "op/device/group.cuh"
#include "op/device/pack.cuh"

namespace headrace::device {

enum class Combine { kSum, kProd, kMax, kMin };  // as in ops/reduce/combine.h

// Every operand's stride along every dimension: [operand * dimensions + d].
template <class Reduce>
struct ReductionArguments {
  static constexpr int kInputs = Reduce::kInputs, kKept = Reduce::kKept, kReduced = Reduce::kReduced;
  int64_t results;   // kept elements
  int64_t elements;  // that go into one of them
  int64_t chunks;    // into which these are cut, each giving a result of its own
  int64_t chunk;     // elements of one, but perhaps the last
  const void* inputs[kInputs];
  void* output;
  int64_t kept_extents[kKept], kept_strides[kInputs * kKept];
  int64_t reduced_extents[kReduced], reduced_strides[kInputs * kReduced];
  typename Reduce::Prologue::Compute parameters[Reduce::kParameters];
  typename Reduce::Held initial, count;
};

template <Combine kHow, class T>
inline T nothing() {
  using Limits = std::numeric_limits<T>;
  if constexpr (kHow == Combine::kSum) return T{0};
  if constexpr (kHow == Combine::kProd) return T{1};
  if constexpr (std::is_floating_point_v<T>)
    return kHow == Combine::kMax ? -Limits::infinity() : Limits::infinity();
  else
    return kHow == Combine::kMax ? Limits::min() : Limits::max();
}

template <Combine kHow>
struct Combined {
  template <class T>
  T operator()(T a, T x) const {
    if constexpr (kHow == Combine::kMax) {
      return (x > a) | (x != x) ? x : a;
    } else if constexpr (kHow == Combine::kMin) {
      return (x < a) | (x != x) ? x : a;
    } else if constexpr (std::is_floating_point_v<T>) {
      return kHow == Combine::kSum ? a + x : a * x;
    } else {  // integers wrap
      using U = std::make_unsigned_t<T>;
      const U left = static_cast<U>(a), right = static_cast<U>(x);
      return static_cast<T>(kHow == Combine::kSum ? left + right : left * right);
    }
  }
};

// Adds to the offsets where element `index` of a space lies.
template <int kInputs, int kDims>
inline void add_offsets(int64_t index, const int64_t* extents, const int64_t* strides, int64_t* offsets) {
  for (int d = kDims - 1; d >= 0; --d) {
    const int64_t place = d > 0 ? index % extents[d] : index;
    index = d > 0 ? index / extents[d] : 0;
    for (int k = 0; k < kInputs; ++k) offsets[k] += place * strides[k * kDims + d];
  }
}

template <int k, class Reduce, class Compute>
inline void load_inputs(const ReductionArguments<Reduce>& a, const int64_t* offsets, Compute* values) {
  if constexpr (k < Reduce::kInputs) {
    using Element = typename Reduce::Prologue::template Element<k>;
    values[k] = numeric_cast<Compute>(static_cast<const Element*>(a.inputs[k])[offsets[k]]);
    load_inputs<k + 1>(a, offsets, values);
  }
}

constexpr int kAtOnce = 4;  // elements whose loads are under way together

// Elements first, first + kWidth, ... of a result's, one after the other.
template <int kCount, int kWidth, class Reduce>
inline void combine_elements(const ReductionArguments<Reduce>& a, const int64_t* base, int64_t first,
                             typename Reduce::Held& held) {
  using Prologue = typename Reduce::Prologue;
  typename Prologue::Compute values[kCount][Prologue::kOperands];
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    int64_t offsets[Reduce::kInputs];
    for (int k = 0; k < Reduce::kInputs; ++k) offsets[k] = base[k];
    add_offsets<Reduce::kInputs, Reduce::kReduced>(first + e * kWidth, a.reduced_extents, a.reduced_strides, offsets);
    load_inputs<0>(a, offsets, values[e]);
  }
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    Prologue::run(a.parameters, values[e]);
    held = Combined<Reduce::kCombine>()(held, numeric_cast<typename Reduce::Held>(values[e][Reduce::kInputs]));
  }
}

template <class Reduce>
inline void put_result(const ReductionArguments<Reduce>& a, int64_t result, typename Reduce::Held held) {
  using Epilogue = typename Reduce::Epilogue;
  using Held = typename Reduce::Held;
  if constexpr (Reduce::kIsWhole) {
    if constexpr (Reduce::kHasInitial) held = Combined<Reduce::kCombine>()(held, a.initial);
    Held values[2] = {held, held};
    Epilogue::run(&a.count, values);
    using Element = typename Epilogue::template Element<1>;
    static_cast<Element*>(a.output)[result] = numeric_cast<Element>(values[1]);
  } else {
    static_cast<Held*>(a.output)[result] = held;
  }
}

// kWidth threads to a result, see Group. Each combines every kWidth-th element, then they combine what they have.
template <class Reduce, int kWidth, bool kAcross>
inline void reduce(const ReductionArguments<Reduce>& a) {
  using Held = typename Reduce::Held;
  using Threads = Group<kWidth, kAcross>;
  const Combined<Reduce::kCombine> combine;
  const int64_t results = a.results * a.chunks;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < results;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t result = first + Threads::number();
    // Neighbours in memory belong to neighbours among the threads.
    const int64_t kept = kAcross ? result % a.results : result / a.chunks;
    const int64_t chunk = kAcross ? result / a.results : result % a.chunks;
    Held held = nothing<Reduce::kCombine, Held>();
    if (result < results) {
      int64_t base[Reduce::kInputs] = {};
      add_offsets<Reduce::kInputs, Reduce::kKept>(kept, a.kept_extents, a.kept_strides, base);
      const int64_t begin = chunk * a.chunk;
      const int64_t end = begin + a.chunk < a.elements ? begin + a.chunk : a.elements;
      int64_t i = begin + Threads::lane();
      for (; i + (kAtOnce - 1) * kWidth < end; i += kAtOnce * kWidth) combine_elements<kAtOnce, kWidth>(a, base, i, held);
      for (; i < end; i += kWidth) combine_elements<1, kWidth>(a, base, i, held);
    }
    held = Threads::combined(held, combine);
    if (result < results && Threads::lane() == 0) put_result(a, kept * a.chunks + chunk, held);
  }
}

// Packs first, first + step, ...: what their elements k are goes into held[k].
template <int kCount, class Reduce, class Packed, int kPack>
inline void combine_packs(const ReductionArguments<Reduce>& a, const Packed* first, int64_t step,
                          typename Reduce::Held (&held)[kPack]) {
  using Prologue = typename Reduce::Prologue;
  Packed packs[kCount];
#pragma unroll
  for (int e = 0; e < kCount; ++e) packs[e] = first[e * step];
#pragma unroll
  for (int e = 0; e < kCount; ++e)
    for (int k = 0; k < kPack; ++k) {
      typename Prologue::Compute operands[Prologue::kOperands];
      operands[0] = numeric_cast<typename Prologue::Compute>(packs[e].elements[k]);
      Prologue::run(a.parameters, operands);
      held[k] = Combined<Reduce::kCombine>()(held[k], numeric_cast<typename Reduce::Held>(operands[1]));
    }
}

// As reduce(), of one input where what goes into a result lies side by side, in whole packs that begin at multiples of
// theirs: `elements`, `chunk` and the strides of what is kept are multiples of kPack.
template <class Reduce, int kWidth, int kPack>
inline void reduce_along(const ReductionArguments<Reduce>& a) {
  using Element = typename Reduce::Prologue::template Element<0>;
  using Held = typename Reduce::Held;
  using Packed = Pack<Element, kPack>;
  using Threads = Group<kWidth>;
  const Combined<Reduce::kCombine> combine;
  const int64_t results = a.results * a.chunks;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < results;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t result = first + Threads::number();
    Held held[kPack];
    for (Held& one : held) one = nothing<Reduce::kCombine, Held>();
    if (result < results) {
      int64_t base = 0;
      add_offsets<1, Reduce::kKept>(result / a.chunks, a.kept_extents, a.kept_strides, &base);
      const auto* const packs = reinterpret_cast<const Packed*>(static_cast<const Element*>(a.inputs[0]) + base);
      const int64_t begin = result % a.chunks * a.chunk;
      const int64_t end = (begin + a.chunk < a.elements ? begin + a.chunk : a.elements) / kPack;
      int64_t i = begin / kPack + Threads::lane();
      for (; i + (kAtOnce - 1) * kWidth < end; i += kAtOnce * kWidth) combine_packs<kAtOnce>(a, packs + i, kWidth, held);
      for (; i < end; i += kWidth) combine_packs<1>(a, packs + i, kWidth, held);
    }
    Held whole = held[0];
    for (int k = 1; k < kPack; ++k) whole = combine(whole, held[k]);
    whole = Threads::combined(whole, combine);
    if (result < results && Threads::lane() == 0) put_result(a, result, whole);
  }
}

// Of one input whose kept elements lie side by side, packs of them at an address that is a multiple of theirs: each
// thread has a pack and goes down the others. kAcross threads of a block have packs beside each other.
template <class Reduce, int kPack, int kAcross>
inline void reduce_packs(const ReductionArguments<Reduce>& a) {
  using Prologue = typename Reduce::Prologue;
  using Held = typename Reduce::Held;
  using Packed = Pack<typename Prologue::template Element<0>, kPack>;
  constexpr int kDown = kBlockThreads / kAcross, kColumns = kAcross * kPack;
  const Combined<Reduce::kCombine> combine;
  Held* const values = shared_values<Held, kBlockThreads * kPack>();
  const int down = threadIdx.x / kAcross;
  const int64_t tiles = (a.results + kColumns - 1) / kColumns;
  for (int64_t piece = blockIdx.x; piece < tiles * a.chunks; piece += gridDim.x) {
    const int64_t tile = piece % tiles * kColumns, chunk = piece / tiles, begin = chunk * a.chunk;
    const int64_t end = begin + a.chunk < a.elements ? begin + a.chunk : a.elements;
    const int64_t column = tile + threadIdx.x % kAcross * kPack;
    Held held[kPack];
    for (Held& one : held) one = nothing<Reduce::kCombine, Held>();
    if (column < a.results) {
      const int64_t row = a.reduced_strides[0] / kPack;
      const auto* const packs = static_cast<const Packed*>(a.inputs[0]) + column / kPack;
      int64_t i = begin + down;
      for (; i + (kAtOnce - 1) * kDown < end; i += kAtOnce * kDown)
        combine_packs<kAtOnce>(a, packs + i * row, kDown * row, held);
      for (; i < end; i += kDown) combine_packs<1>(a, packs + i * row, kDown * row, held);
    }
    __syncthreads();  // an earlier piece is over with them
    for (int k = 0; k < kPack; ++k) values[threadIdx.x * kPack + k] = held[k];
    __syncthreads();
    for (int own = threadIdx.x; own < kColumns && tile + own < a.results; own += kBlockThreads) {
      Held whole = values[own];
      for (int row = 1; row < kDown; ++row) whole = combine(whole, values[row * kColumns + own]);
      put_result(a, (tile + own) * a.chunks + chunk, whole);
    }
  }
}

}  // namespace headrace::device
