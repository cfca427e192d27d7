// Inner loops of reductions over one contiguous run or over several rows at once. Pure functions; any thread.
#pragma once

#include <cstdint>

#include "headrace/dtype.hpp"
#include "op/formula/opcode.h"

namespace headrace {

enum class Combine : uint8_t { kSum, kProd, kMax, kMin };
inline constexpr int kCombineCount = 4;

// What partial results are held in. Sums and products: double for the float compute types, 64 bits for the integer
// ones. Along a run four float32 elements at most are added as such before their sum goes on in double: the error of a
// sum is at most two roundings of the sum of magnitudes, whatever its length. Extremes: the compute type itself. NaN
// wins over all numbers.
ComputeType accumulator_type(Combine combine, ComputeType elements) noexcept;

struct CombineKernels {
  // *accumulator combined with x[0 .. n)
  void (*run)(void* accumulator, const void* x, int64_t n) noexcept;
  // accumulators[i] combined with x[i * n .. (i + 1) * n) for every i < count; for short runs
  void (*runs)(void* accumulators, const void* x, int64_t n, int64_t count) noexcept;
  // accumulators[j] combined with x[i * stride + j] for every i < rows, for j < n
  void (*rows)(void* accumulators, const void* x, int64_t stride, int64_t rows, int64_t n) noexcept;
  // accumulators[j] = what changes nothing, for j < n
  void (*clear)(void* accumulators, int64_t n) noexcept;
};

const CombineKernels& combine_kernels(Combine combine, ComputeType elements) noexcept;

}  // namespace headrace
