// Running the graph of a hybridized block as nearly every call does it: arrays only, each parameter on one device.

#include <limits>

#include "bindings.h"
#include "graph/cached_op.h"
#include "ndarray/view.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// While nothing in a class or its bases changes, it keeps its number, and no class gets one that another had; 0: none.
uint32_t version_of(const PyTypeObject* kind) {
  return PyType_HasFeature(const_cast<PyTypeObject*>(kind), Py_TPFLAGS_VALID_VERSION_TAG) ? kind->tp_version_tag : 0;
}

// Where the inputs of a compiled graph come from. Keeps the graph and the parameters alive.
class GraphCall {
 public:
  // `sources`: for each input of the graph the number of an argument, or a parameter, whose `_single` is its array
  // while it has one replica, and None before and otherwise. `arguments`: how many there are. `nest`: makes what the
  // call gives of the list of outputs; None: it gives the only one.
  GraphCall(nb::object op, nb::handle sources, size_t arguments, bool is_np, nb::object nest)
      : op_(std::move(op)), nest_(std::move(nest)), arguments_(arguments), is_np_(is_np) {
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
    Py_VISIT(nest_.ptr());
    for (const Source& source : sources_) Py_VISIT(source.parameter.ptr());
    return 0;
  }
  void clear() {
    op_.reset();
    nest_.reset();
    sources_.clear();
    arguments_ = std::numeric_limits<size_t>::max();  // no call has so many
  }

  // For calls of a block; `runs_graph(class)` says whether they do nothing but run the graph.
  nb::object call_block(nb::handle block, nb::handle args, nb::handle runs_graph) {
    const uint32_t version = version_of(Py_TYPE(block.ptr()));
    if (version == 0 || version != version_) {
      version_ = 0;
      if (!nb::cast<bool>(runs_graph(block.type()))) return nb::none();
      version_ = version_of(Py_TYPE(block.ptr()));
    }
    return has_own_forward(block) ? nb::none() : (*this)(args);
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
    if (nest_.is_none()) return wrapped(std::move(outputs[0]), is_np_);
    nb::list list;
    for (NDArray& output : outputs) list.append(wrapped(std::move(output), is_np_));
    return nest_(list);
  }

 private:
  struct Source {
    size_t argument;
    nb::object parameter;  // null: the argument
  };

  static bool has_own_forward(nb::handle block) {
    static PyObject* const kForward = PyUnicode_InternFromString("forward");
    const nb::object own = nb::steal(PyObject_GenericGetDict(block.ptr(), nullptr));
    const int is_there = own ? PyDict_Contains(own.ptr(), kForward) : -1;
    if (is_there < 0) throw nb::python_error();
    return is_there == 1;
  }

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

  nb::object op_, nest_;
  std::vector<Source> sources_;
  size_t arguments_;
  bool is_np_;
  uint32_t version_ = 0;  // of the class of blocks that run the graph
};

}  // namespace

void bind_graph_call(nb::module_& m) {
  nb::class_<GraphCall>(m, "GraphCall", nb::type_slots(CollectorSlots<GraphCall>::kAll))
      .def(
          "__init__",
          [](GraphCall* self, nb::object op, nb::handle sources, size_t arguments, bool is_np, nb::object nest) {
            translated([&] {
              new (self) GraphCall(std::move(op), sources, arguments, is_np, std::move(nest));
              return 0;
            });
          },
          nb::arg("op"), nb::arg("sources"), nb::arg("arguments"), nb::arg("is_np"), nb::arg("nest").none())
      .def(
          "call_block",
          [](GraphCall& self, nb::handle block, nb::handle args, nb::handle runs_graph) {
            return translated([&] { return self.call_block(block, args, runs_graph); });
          },
          "As a call with `args`, where `runs_graph` says of the block's class that blocks do only this; else None.")
      .def(
          "__call__", [](const GraphCall& self, nb::handle args) { return translated([&] { return self(args); }); },
          "The outputs for a tuple of arrays, or the only one; None where other arguments came, or a parameter has not "
          "one array.");
}

}  // namespace headrace::python
