// Recording scopes, backward, custom functions.

#include "autograd/autograd.h"
#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "op/invoke.h"
#include "op/thread_state.h"
#include "scope.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Holds a Python callable on the tape; the last reference may go on any thread.
class Callback {
 public:
  explicit Callback(nb::handle function) : function_(shared_reference(function.ptr())) {}

  std::vector<NDArray> operator()(std::span<const NDArray> heads, const std::vector<bool>& wanted) const {
    // The program may write into them: each element needs a place of its own.
    std::vector<NDArray> own;
    for (const NDArray& head : heads) {
      const bool is_repeated = head && head.storage_kind() == StorageKind::kDense && !head.is_contiguous();
      own.push_back(is_repeated ? contiguous(head) : head);
    }
    PythonCall python;
    nb::list list, asked;
    for (NDArray& head : own) list.append(wrapped(std::move(head), np_));
    for (bool one : wanted) asked.append(nb::bool_(one));
    return arrays_from(called(python, function_.get(), list, asked));
  }
  bool np_ = false;

 private:
  std::shared_ptr<PyObject> function_;
};

}  // namespace

bool are_fresh(nb::handle variables) {
  for (nb::handle variable : variables) {
    const NodePtr& node = array_from(variable).node();
    if (!node || !node->is_leaf || !node->is_fresh) return false;
  }
  return true;
}

void make_stale(nb::handle variables) {
  for (nb::handle variable : variables) {
    const NodePtr& node = array_from(variable).node();
    if (node && node->is_leaf) node->is_fresh = false;
  }
}

void bind_autograd(nb::module_& m) {
  if (!add_scopes(m.ptr())) throw nb::python_error();
  m.def(
      "is_recording", [] { return thread_state().recording; }, "Whether operations of this thread are recorded.");
  m.def(
      "is_training", [] { return thread_state().training; },
      "Whether dropout, batch normalisation and the like behave as in training, in this thread.");
  m.def(
      "set_recording", [](bool on) { return switch_recording(on); }, nb::arg("is_recording"),
      "Switches recording in this thread; returns whether it was on.");
  m.def(
      "set_training", [](bool on) { return std::exchange(thread_state().training, on); }, nb::arg("train_mode"),
      "Switches training mode in this thread; returns whether it was on.");
  m.def(
      "mark_variable",
      [](nb::handle variable, nb::handle gradient, const char* request) {
        translated([&] {
          array_from(variable);
          NDArray collected = gradient.is_none() ? NDArray() : array_from(gradient);
          autograd::mark_variable(array_of(variable.ptr()), collected, to_grad_req(request));
          return 0;
        });
      },
      nb::arg("variable"), nb::arg("gradient").none(), nb::arg("request"));
  m.def("are_fresh", &are_fresh, nb::arg("variables"),
        "Whether backward has written the gradients of all variables since they were last used.");
  m.def("make_stale", &make_stale, nb::arg("variables"), "The gradients of all variables have been used.");
  m.def("set_grad_req", [](nb::handle variable, const char* request) {
    translated([&] {
      const NodePtr& node = array_from(variable).node();
      check(node && node->is_leaf, ErrorKind::kValue, "set_grad_req: attach_grad() was not called on the array");
      node->request = to_grad_req(request);
      return 0;
    });
  });
}

void bind_backward(nb::module_& m) {
  m.def(
      "backward",
      [](nb::handle heads, nb::handle head_gradients, bool retain_graph, bool train_mode) {
        translated([&] {
          std::vector<NDArray> gradients;
          if (!head_gradients.is_none()) gradients = arrays_from(head_gradients);
          autograd::backward(arrays_from(heads), gradients, retain_graph, train_mode);
          return 0;
        });
      },
      nb::arg("heads"), nb::arg("head_gradients").none(), nb::arg("retain_graph"), nb::arg("train_mode"));
  m.def(
      "grad",
      [](nb::handle heads, nb::handle variables, nb::handle head_gradients, bool retain_graph, bool create_graph,
         bool train_mode) {
        return translated([&] {
          std::vector<NDArray> gradients;
          if (!head_gradients.is_none()) gradients = arrays_from(head_gradients);
          std::vector<NDArray> wanted = arrays_from(variables);
          std::vector<NDArray> results =
              autograd::grad(arrays_from(heads), wanted, gradients, retain_graph, create_graph, train_mode);
          nb::list list;
          size_t i = 0;
          for (nb::handle variable : variables) list.append(wrapped(std::move(results[i++]), is_np(variable.ptr())));
          return list;
        });
      },
      nb::arg("heads"), nb::arg("variables"), nb::arg("head_gradients").none(), nb::arg("retain_graph"),
      nb::arg("create_graph"), nb::arg("train_mode"));
  m.def(
      "record_custom",
      [](nb::handle inputs, nb::handle outputs, nb::handle step, bool np, bool is_operator) {
        translated([&] {
          std::vector<NDArray> results = arrays_from(outputs);
          Callback callback(step);
          callback.np_ = np;
          autograd::record_custom(arrays_from(inputs), results, callback, is_operator ? "Custom" : nullptr);
          size_t i = 0;
          for (nb::handle output : outputs) array_of(output.ptr()) = results[i++];
          return 0;
        });
      },
      nb::arg("inputs"), nb::arg("outputs"), nb::arg("step"), nb::arg("np"), nb::arg("is_operator") = false,
      "Puts custom code on the tape: `step(list of output gradients, whether each input's gradient is wanted)` gives "
      "the input gradients. Those of an operator cannot be differentiated again.");
}

}  // namespace headrace::python
