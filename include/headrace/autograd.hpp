// Gradients: what a thread computes inside a RecordScope can be differentiated.
//
//   autograd::attach_grad(x);
//   NDArray y;
//   {
//     autograd::RecordScope scope;
//     y = x * x;
//   }
//   autograd::backward(y);
//   NDArray dx = autograd::grad_of(x);
//
// Scopes belong to the thread that makes them and end in reverse order.
#pragma once

#include <string_view>

#include "headrace/ndarray.hpp"

namespace headrace::autograd {

class RecordScope {
 public:
  // Operations are recorded, and layers behave as in training unless `train_mode` is false.
  explicit RecordScope(bool train_mode = true) noexcept;
  ~RecordScope();
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

 private:
  bool was_recording_, was_training_;
};

// Operations are not recorded, and layers behave as in use.
class PauseScope {
 public:
  PauseScope() noexcept;
  ~PauseScope();
  PauseScope(const PauseScope&) = delete;
  PauseScope& operator=(const PauseScope&) = delete;

 private:
  bool was_recording_, was_training_;
};

bool is_recording() noexcept;
bool is_training() noexcept;

// Asks for gradients with respect to `array`, to be stored as `kind`. `grad_req`: "write" or "add"; ValueError for
// another word.
void attach_grad(NDArray& array, std::string_view grad_req = "write", StorageKind kind = StorageKind::kDense);
// The gradient that backward writes; ValueError unless attach_grad was called on the array.
NDArray grad_of(const NDArray& array);

// Queues the computation of the gradients of (the sum of) `head` with respect to all arrays with attach_grad that it
// was computed from. MXNetError (kRuntime): nothing was recorded, or the graph is already used up.
void backward(const NDArray& head, bool retain_graph = false);

}  // namespace headrace::autograd
