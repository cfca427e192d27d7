// Tracing: operations on abstract arrays, which have a type but no values, are linked into a graph and not run. The
// rules of shape, dtype and gradient are the ones that run eagerly.
//
// An operation is traced when one of its arrays is abstract, or when it has none and the thread traces (TraceScope).
// Arrays with values that meet abstract ones become constants of the graph.
#pragma once

#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace {

// `keeps_compositions`: the graph is to become a symbol, whose meaning does not depend on the mode of the thread.
class TraceScope : public ThreadStateScope {
 public:
  explicit TraceScope(bool training, bool keeps_compositions = false)
      : ThreadStateScope([=](ThreadState& state) {
          state.recording = false;
          state.tracing = true;
          state.keeps_compositions = keeps_compositions;
          state.training = training;
        }) {}
};

inline bool is_abstract(const NDArray& array) noexcept { return array && !array.view()->storage(); }

// A new abstract array that nothing computes: an input of the graph.
NDArray abstract_variable(const Shape& shape, DType dtype);
// `offset`: where it begins in the memory of the array that it is a view of.
NDArray abstract_variable(const Shape& shape, DType dtype, const Strides& strides, int64_t offset = 0);

// Links one operation. `outputs` must all be none: writing in place cannot be traced.
void trace_call(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs);

}  // namespace headrace
