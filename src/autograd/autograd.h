// Gradients over the tape. Nodes are linked while a thread records (op/invoke.cc); backward walks them from the newest
// to the oldest, issuing each operator's gradient, which itself is made of operators. All functions return before the
// gradients exist; reading one waits for it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headrace/autograd.hpp"
#include "op/node.h"

namespace headrace::autograd {

// Makes `array` a leaf whose gradient is collected in `gradient` (same shape; none with kNull). Earlier history of the
// array is dropped.
void mark_variable(NDArray& array, const NDArray& gradient, GradReq request);

// What grad() computes, in a traced graph (op/trace.h): gradients as abstract arrays; none where nothing leads to a
// variable. `heads`, `head_gradients` and `variables` are abstract, the variables leaves.
std::vector<NDArray> trace_grad(std::span<const NDArray> heads, std::span<const NDArray> variables,
                                std::span<const NDArray> head_gradients);

// Links `outputs` to `inputs` through code that knows the gradient. Does nothing when no input leads to a leaf or the
// thread does not record. `types`, of the inputs and then of the outputs: views without storage of their shapes and
// dtypes, where the caller has them.
void record_node(std::span<const NDArray> inputs, std::span<NDArray> outputs, Node::Custom step,
                 std::span<const ViewPtr> types = {});

// The same for a user's code: gradients of the inputs from those of the outputs, zeros where nothing reached an output.
// `wanted`: which gradients somebody asks for; the others may be none. With `once`, the name of the operator that the
// code is the gradient of, what the code gives cannot be differentiated again.
using CustomStep = std::function<std::vector<NDArray>(std::span<const NDArray> heads, const std::vector<bool>& wanted)>;
void record_custom(std::span<const NDArray> inputs, std::span<NDArray> outputs, CustomStep step,
                   const char* once = nullptr);

// Records `node`'s place on the tape: whether the array belongs to a graph.
inline bool is_recorded(const NDArray& array) noexcept { return place_on_tape(array) != nullptr; }

}  // namespace headrace::autograd
