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

#include <span>
#include <string_view>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::autograd {

// Whether operations are recorded and layers behave as in training is what it was before, once the scope ends.
class ModeScope {
 public:
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 protected:
  ModeScope(bool recording, bool train_mode) noexcept;
  ~ModeScope();

 private:
  bool was_recording_, was_training_;
};

bool is_recording() noexcept;
bool is_training() noexcept;

// Operations are recorded, and layers behave as in training unless `train_mode` is false.
class RecordScope : public ModeScope {
 public:
  [[nodiscard]] explicit RecordScope(bool train_mode = true) noexcept : ModeScope(true, train_mode) {}
};

// Operations are not recorded, and layers behave as in use unless `train_mode` is true.
class PauseScope : public ModeScope {
 public:
  [[nodiscard]] explicit PauseScope(bool train_mode = false) noexcept : ModeScope(false, train_mode) {}
};

// Layers behave as in training, or as in use; operations are recorded if they were.
class TrainModeScope : public ModeScope {
 public:
  [[nodiscard]] TrainModeScope() noexcept : ModeScope(is_recording(), true) {}
};
class PredictModeScope : public ModeScope {
 public:
  [[nodiscard]] PredictModeScope() noexcept : ModeScope(is_recording(), false) {}
};

// Asks for gradients with respect to `array`, to be stored as `kind`. `grad_req`: "write" or "add"; ValueError for
// another word.
void attach_grad(NDArray& array, std::string_view grad_req = "write", StorageKind kind = StorageKind::kDense);
// The gradient that backward writes; ValueError unless attach_grad was called on the array.
NDArray grad_of(const NDArray& array);

// Queues the computation of the gradients of (the sum of) `head` with respect to all arrays with attach_grad that it
// was computed from. MXNetError (kRuntime): nothing was recorded, or the graph is already used up.
void backward(const NDArray& head, bool retain_graph = false);
// The same of several heads. `head_gradients` is empty or has one entry for each; none means ones. Layers count as in
// training unless `train_mode` is false.
void backward(std::span<const NDArray> heads, std::span<const NDArray> head_gradients = {}, bool retain_graph = false,
              bool train_mode = true);

// The gradients of `heads` with respect to `variables`, arrays with attach_grad, which keep theirs. With `create_graph`
// they are recorded, so that they can be differentiated again; the graph of `heads` stays then. Else as backward.
std::vector<NDArray> grad(std::span<const NDArray> heads, std::span<const NDArray> variables,
                          std::span<const NDArray> head_gradients = {}, bool retain_graph = false,
                          bool create_graph = false, bool train_mode = true);

}  // namespace headrace::autograd
