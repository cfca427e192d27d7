#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/reduce/arg_reduce.h"
#include "ops/reduce/combine.h"

namespace headrace {
namespace {

constexpr int64_t kBlock = 1024;  // elements searched only where they hold the extreme
constexpr int64_t kColumns = 256;
constexpr double kNsPerByte = 0.1;

template <class T>
bool beats(T x, T best, bool largest) noexcept {
  return (largest ? x > best : x < best) || (x != x && best == best);
}

// The first position from `i` on that holds `value` (any NaN for NaN); there is one before n.
template <class T>
int64_t find(const T* x, int64_t i, int64_t n, T value) noexcept {
  constexpr int64_t kLanes = 32;
  const bool nan = value != value;
  for (; i + kLanes <= n; i += kLanes) {
    bool found = false;
    for (int64_t k = 0; k < kLanes; ++k) found |= nan ? x[i + k] != x[i + k] : x[i + k] == value;
    if (found) break;
  }
  while (nan ? x[i] == x[i] : x[i] != value) ++i;
  return i;
}

// One contiguous row. The extreme of a block is found at the speed of memory; its position only when it is a new one.
template <class T>
int64_t search_row(const T* x, int64_t n, bool largest, const CombineKernels& kernels) {
  T best = x[0];
  int64_t block_of_best = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    T extreme;
    kernels.clear(&extreme, 1);
    kernels.run(&extreme, x + i, std::min(kBlock, n - i));
    if (!beats(extreme, best, largest)) continue;
    best = extreme;
    block_of_best = i;
    if (best != best) break;
  }
  return find(x, block_of_best, n, best);
}

// Rows [0, length) of `columns` neighbouring columns. Blocks of rows are combined side by side; only a block that holds
// a new extreme of a column is looked at row by row.
template <class T>
void search_columns(const T* x, int64_t length, int64_t stride, int64_t columns, bool largest,
                    const CombineKernels& kernels, int64_t* positions) {
  constexpr int64_t kRows = 32;
  T best[kColumns], extreme[kColumns];
  std::copy_n(x, columns, best);
  std::fill_n(positions, columns, int64_t{0});
  for (int64_t i = 0; i < length; i += kRows) {
    const int64_t rows = std::min(kRows, length - i);
    std::copy_n(best, columns, extreme);
    kernels.rows(extreme, x + i * stride, stride, rows, columns);
    for (int64_t j = 0; j < columns; ++j) {
      if (!beats(extreme[j], best[j], largest)) continue;
      best[j] = extreme[j];
      const bool nan = best[j] != best[j];
      int64_t r = i;
      while (nan ? x[r * stride + j] == x[r * stride + j] : x[r * stride + j] != best[j]) ++r;
      positions[j] = r;
    }
  }
}

void store_positions(const Tensor& output, int64_t first, const int64_t* positions, int64_t n) {
  const Store store = store_function(ComputeType::kInt64, output.dtype);
  store(positions, output.as<char>() + first * static_cast<int64_t>(item_size(output.dtype)), 1, n);
}

template <class T>
void search(const Tensor& input, const AxisSpace& space, bool largest, ComputeType type, const Tensor& output) {
  const bool direct = input.dtype == dtype_of(type);
  const Load load = load_function(input.dtype, type);
  const auto item = static_cast<int64_t>(item_size(input.dtype));
  const CombineKernels& kernels = combine_kernels(largest ? Combine::kMax : Combine::kMin, type);
  const int64_t width = std::min(space.inner, kColumns), blocks = (space.inner + width - 1) / width;
  const double cost =
      static_cast<double>(input.size * item) * kNsPerByte + (direct ? 0 : static_cast<double>(input.size));
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, space.length * width));
  parallel_for(space.outer * blocks, grain, cost, [&](int64_t begin, int64_t end) {
    std::vector<T> converted(direct ? 0 : static_cast<size_t>(space.length * width));
    int64_t positions[kColumns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / blocks, column = i % blocks * width, columns = std::min(width, space.inner - column);
      const int64_t first = o * space.length * space.inner + column;
      const T* x = static_cast<const T*>(input.data) + first;
      int64_t stride = space.inner;
      if (!direct) {
        for (int64_t r = 0; r < (space.inner == 1 ? 1 : space.length); ++r)
          load(converted.data() + r * columns, input.as<char>() + (first + r * space.inner) * item, 1,
               space.inner == 1 ? space.length : columns);
        x = converted.data();
        stride = columns;
      }
      if (space.inner == 1)
        positions[0] = search_row(x, space.length, largest, kernels);
      else
        search_columns(x, space.length, stride, columns, largest, kernels, positions);
      store_positions(output, o * space.inner + column, positions, columns);
    }
  });
}

void search_on_host(KernelContext&, const Tensor& input, const AxisSpace& space, bool largest, const Tensor& output) {
  if (output.size == 0) return;
  const ComputeType type = compute_type_of(input.dtype);
  switch (type) {
    case ComputeType::kFloat32:
      return search<float>(input, space, largest, type, output);
    case ComputeType::kFloat64:
      return search<double>(input, space, largest, type, output);
    case ComputeType::kInt32:
      return search<int32_t>(input, space, largest, type, output);
    case ComputeType::kInt64:
      return search<int64_t>(input, space, largest, type, output);
    case ComputeType::kUint64:
      return search<uint64_t>(input, space, largest, type, output);
  }
}

}  // namespace

const decltype(arg_reduce) arg_reduce{"arg_reduce", search_on_host};

}  // namespace headrace
