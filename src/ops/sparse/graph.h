// What operators on graphs share. A graph is an int64 csr matrix: element (u, v) is the number of the edge from u to v.
#pragma once

#include "base/check.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"

namespace headrace {

// Sets of vertices that one call takes, at most.
inline constexpr size_t kMostSets = 64;

inline void require_int64(const Infer& i, size_t k) {
  i.require(i.dtype(k) == DType::kInt64, ErrorKind::kRuntime,
            "input {} must hold int64, got {}; convert it with astype", k, dtype_name(i.dtype(k)));
}

inline void require_graph(const Infer& i, size_t k) {
  require_int64(i, k);
  i.require(i.shape(k).size() == 2 && i.shape(k)[0] == i.shape(k)[1], ErrorKind::kRuntime,
            "a graph is a square matrix, got shape {}", to_string(i.shape(k)));
}

inline void require_vector(const Infer& i, size_t k) {
  require_int64(i, k);
  i.require(i.shape(k).size() == 1, ErrorKind::kRuntime, "input {} must be a vector of vertices, got shape {}", k,
            to_string(i.shape(k)));
}

// The number of inputs behind the first `others`.
inline size_t require_sets(const Infer& i, size_t others) {
  i.require(i.input_count() > others && i.input_count() - others <= kMostSets, ErrorKind::kRuntime,
            "from 1 to {} vectors of vertices are needed, got {} arrays", kMostSets, i.input_count());
  return i.input_count() - others;
}

inline int64_t require_vertex(const SparseContext& c, int64_t vertex, int64_t count) {
  check(vertex >= 0 && vertex < count, ErrorKind::kIndex, "{}: Vertex Id {} isn't in a graph of {} vertices", c.name(),
        vertex, count);
  return vertex;
}

// The kernel for arrays that are not stored as graphs.
template <class A>
void refuse_dense_graph(KernelContext& c, const A&) {
  fail(ErrorKind::kRuntime, "{}: graphs are csr matrices, and vectors of vertices are dense; convert with tostype",
       c.name());
}

}  // namespace headrace
