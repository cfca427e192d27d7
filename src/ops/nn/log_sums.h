// Sums of probabilities that are given by their logarithms, row by row. Pure functions; any thread.
#pragma once

#include <cstdint>

namespace headrace {

// Of n elements each; minus infinity is the logarithm of 0, and NaN gives NaN.
struct LogSumKernels {
  // sums = log(exp(a) + exp(b) + exp(c + factor))
  void (*sums)(const double* a, const double* b, const double* c, const double* factor, double* sums,
               int64_t n) noexcept;
  // shares = exp(a + b - total)
  void (*shares)(const double* a, const double* b, double total, double* shares, int64_t n) noexcept;
};

const LogSumKernels& log_sum_kernels() noexcept;

}  // namespace headrace
