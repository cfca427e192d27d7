// Running the graph of a hybridized block as nearly every call does it: arrays only, each parameter on one device.

#include <limits>

#include "bindings.h"
#include "graph/cached_op.h"
#include "ndarray/view.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Where the inputs of a compiled graph come from. Keeps the graph and the parameters alive.
class GraphCall {
 public:
  // `sources`: for each input of the graph the number of an argument, or a parameter, whose `_single` is its array
  // while it has one replica, and None before and otherwise. `arguments`: how many there are.
  GraphCall(nb::object op, nb::handle sources, size_t arguments, bool np)
      : op_(std::move(op)), arguments_(arguments), np_(np) {
    nb::cast<CachedOp&>(op_);
    for (nb::handle source : sources) {
      if (PyLong_Check(source.ptr()))
        sources_.push_back({nb::cast<size_t>(source), nb::object()});
      else
        sources_.push_back({0, nb::borrow(source)});
    }
  }

  // For Python's collector of cycles.
  int visit(visitproc visit, void* arg) const {
    Py_VISIT(op_.ptr());
    for (const Source& source : sources_) Py_VISIT(source.parameter.ptr());
    return 0;
  }
  void clear() {
    op_.reset();
    sources_.clear();
    arguments_ = std::numeric_limits<size_t>::max();  // no call has so many
  }

  // The outputs for a tuple of arguments; None where the call needs more than this, and nothing has been done.
  nb::object operator()(nb::handle args) const {
    std::vector<NDArray> inputs;
    if (!take_arguments(args) || !gather(args, inputs)) return nb::none();
    std::vector<NDArray> outputs;
    {
      CachedOp& op = nb::cast<CachedOp&>(op_);
      const WithoutGil unlocked;
      outputs = op(inputs);
    }
    nb::list list;
    for (NDArray& output : outputs) list.append(wrapped(std::move(output), np_));
    return list;
  }

 private:
  struct Source {
    size_t argument;
    nb::object parameter;  // null: the argument
  };

  // Whether all are arrays with values, on one device.
  bool take_arguments(nb::handle args) const {
    if (!PyTuple_Check(args.ptr()) || static_cast<size_t>(PyTuple_GET_SIZE(args.ptr())) != arguments_) return false;
    const NDArray* first = nullptr;
    for (nb::handle argument : nb::borrow<nb::tuple>(args)) {
      if (!is_array(argument.ptr())) return false;
      const NDArray& array = array_of(argument.ptr());
      if (!array || !array.view()->storage() || (first && array.device() != first->device())) return false;
      first = &array;
    }
    return true;
  }

  bool gather(nb::handle args, std::vector<NDArray>& inputs) const {
    static PyObject* const kSingle = PyUnicode_InternFromString("_single");
    inputs.reserve(sources_.size());
    for (const Source& source : sources_) {
      if (!source.parameter) {
        inputs.push_back(array_of(PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(source.argument))));
        continue;
      }
      const nb::object single = nb::steal(PyObject_GetAttr(source.parameter.ptr(), kSingle));
      if (!single) throw nb::python_error();
      if (!is_array(single.ptr())) return false;
      inputs.push_back(array_of(single.ptr()));
    }
    return true;
  }

  nb::object op_;
  std::vector<Source> sources_;
  size_t arguments_;
  bool np_;
};

}  // namespace

void bind_graph_call(nb::module_& m) {
  nb::class_<GraphCall>(m, "GraphCall", nb::type_slots(CollectorSlots<GraphCall>::kAll))
      .def(
          "__init__",
          [](GraphCall* self, nb::object op, nb::handle sources, size_t arguments, bool np) {
            translated([&] {
              new (self) GraphCall(std::move(op), sources, arguments, np);
              return 0;
            });
          },
          nb::arg("op"), nb::arg("sources"), nb::arg("arguments"), nb::arg("np"))
      .def(
          "__call__", [](const GraphCall& self, nb::handle args) { return translated([&] { return self(args); }); },
          "The outputs for a tuple of arrays; None where other arguments came, or a parameter has not one array.");
}

}  // namespace headrace::python
