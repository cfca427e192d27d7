// Reductions as the library computes them. The named ones are operators of the catalogue, so that what a plan computes
// step by step and what one pass over host memory computes come from one formula. Any thread.
#pragma once

#include "headrace/communicator.hpp"
#include "ndarray/view.h"
#include "op/pointwise.h"

namespace headrace::kvstore {

struct NamedReduction {
  std::string_view name;
  const char* operation;  // on two arrays of one shape
  bool divides = false;   // by the number of arrays, in the end
};

// The operator on two arrays of one shape; null for a function.
const OpDef* operation_of(const Reduction& reduction);
// The combination of the first `count` inputs, up to kMostAtOnce; null for a function.
inline constexpr size_t kMostAtOnce = 8;
const Pointwise* formula_of(const Reduction& reduction, size_t count);

inline bool share_memory(const NDArray& a, const NDArray& b) { return a.view()->storage() == b.view()->storage(); }

}  // namespace headrace::kvstore
