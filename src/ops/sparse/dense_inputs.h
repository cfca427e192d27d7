// Dense arrays that kernels on sparse ones are given.
#pragma once

#include <algorithm>
#include <vector>

#include "op/sparse_context.h"
#include "ops/index/indices.h"

namespace headrace {

inline Tensor tensor_of(const View& dense) {
  return {dense.data(), dense.dtype(), dense.shape(), dense.strides(), dense.size(), dense.storage()};
}

// The indices of a dense input, as read_indices gives them, along axis 0.
inline std::vector<int64_t> given_indices(const SparseContext& c, size_t input, int64_t extent, IndexMode mode) {
  return read_indices(c.name(), tensor_of(c.input(input)), extent, mode, 0);
}

// In order and each once.
inline std::vector<int64_t> distinct(std::vector<int64_t> rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace headrace
