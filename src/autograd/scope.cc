#include "autograd/autograd.h"
#include "base/check.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::autograd {

ModeScope::ModeScope(bool recording, bool train_mode) noexcept
    : was_recording_(switch_recording(recording)), was_training_(std::exchange(thread_state().training, train_mode)) {}

ModeScope::~ModeScope() {
  thread_state().recording = was_recording_;
  thread_state().training = was_training_;
}

bool is_recording() noexcept { return thread_state().recording; }
bool is_training() noexcept { return thread_state().training; }

void attach_grad(NDArray& array, std::string_view grad_req, StorageKind kind) {
  check(static_cast<bool>(array), ErrorKind::kType, "attach_grad: the array is none");
  check(grad_req == "write" || grad_req == "add", ErrorKind::kValue,
        "attach_grad: grad_req must be 'write' or 'add', got '{}'", grad_req);
  mark_variable(array,
                kind == StorageKind::kDense ? zeros_like(array.off_tape())
                                            : sparse::zeros(kind, array.shape(), array.dtype(), array.device()),
                grad_req == "write" ? GradReq::kWrite : GradReq::kAdd);
}

NDArray grad_of(const NDArray& array) {
  check(array.node() && array.node()->is_leaf, ErrorKind::kValue, "grad_of: attach_grad was not called on the array");
  return array.node()->gradient;
}

void backward(const NDArray& head, bool retain_graph) {
  check(static_cast<bool>(head), ErrorKind::kType, "backward: the head is none");
  backward({&head, 1}, {}, retain_graph, true);
}

}  // namespace headrace::autograd
