// Operators written in Python: what the operator Custom runs. headrace/operator.py makes the objects that are asked
// here.

#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "op/thread_state.h"
#include "op/trace.h"
#include "ops/control/custom.h"
#include "timeline/timeline.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// A with block around the code of a custom operator, which the timeline shows under its name while it records.
struct CodeBlock {
  const char* name;
  const char* label;
  std::optional<ThreadStateScope> scope = {};
  uint64_t begin = 0;

  explicit CodeBlock(const char* op)
      : name(timeline::intern(op)), label(timeline::intern(std::string(op) + "::pure_python")) {}
  CodeBlock(const CodeBlock&) = delete;

  void enter() {
    if (!timeline::enabled(timeline::Source::kOperators)) return;
    scope.emplace([this](ThreadState& state) { state.issuer = name; });
    begin = ticks();
  }
  void exit() {
    if (!scope) return;
    scope.reset();
    timeline::record({label, timeline::kCustomOperator}, begin, ticks());
  }
};

// What Python code raised, as an error of the library: its kind is that of the first type in headrace.base.error_types
// that fits. What is to end the program goes on as it is.
[[noreturn]] void raise_in_library(const nb::python_error& error) {
  PyObject* const raised = error.value().ptr();
  if (!PyErr_GivenExceptionMatches(raised, PyExc_Exception)) throw error;
  const nb::object table = nb::module_::import_("headrace.base").attr("error_types");
  size_t kind = 0;
  for (size_t i = nb::len(table); i-- > 1 && kind == 0;)
    if (PyErr_GivenExceptionMatches(raised, nb::object(table[i]).ptr())) kind = i;
  throw CausedError(static_cast<ErrorKind>(kind), nb::str(error.value()).c_str(), raised);
}

// Calls Python code. Rules of shapes and their like are asked where errors of the library are expected.
template <class F>
auto with_library_errors(F&& code) {
  PythonCall python;
  try {
    return code(python);
  } catch (const PythonError&) {
    raise_in_library(nb::python_error());
  } catch (const nb::python_error& error) {
    raise_in_library(error);
  }
}

std::vector<std::string> texts_from(nb::handle sequence) {
  std::vector<std::string> texts;
  for (nb::handle text : sequence) texts.emplace_back(nb::str(text).c_str());
  return texts;
}

class PythonProperty final : public CustomProperty {
 public:
  // Under the GIL.
  explicit PythonProperty(nb::handle object)
      : CustomProperty({.inputs = texts_from(object.attr("inputs")),
                        .outputs = texts_from(object.attr("outputs")),
                        .states = texts_from(object.attr("states"))}),
        object_(shared_reference(object.ptr())),
        np_(nb::cast<bool>(object.attr("np"))) {}

  std::vector<Shape> shapes(std::span<const Shape> inputs) const override {
    return with_library_errors([&](PythonCall& python) {
      nb::list list;
      for (const Shape& shape : inputs) list.append(nb::steal(from_shape(shape)));
      std::vector<Shape> shapes;
      for (nb::handle shape : called(python, rule("shapes"), list))
        shapes.push_back(to_shape(shape.ptr(), "infer_shape"));
      return shapes;
    });
  }

  std::vector<DType> dtypes(std::span<const DType> inputs) const override {
    return with_library_errors([&](PythonCall& python) {
      nb::list list;
      for (DType dtype : inputs) list.append(nb::borrow(numpy_dtype(dtype)));
      std::vector<DType> dtypes;
      for (nb::handle dtype : called(python, rule("dtypes"), list)) dtypes.push_back(to_dtype(dtype.ptr()));
      return dtypes;
    });
  }

  // What Python code raises goes back to Python as it is.
  std::vector<NDArray> run(std::span<const NDArray> arrays, std::span<const NDArray> types) const override {
    PythonCall python;
    nb::list given, outputs;
    for (const NDArray& array : arrays) given.append(wrapped(array, np_));
    for (const NDArray& type : types)
      outputs.append(nb::make_tuple(nb::steal(from_shape(type.shape())), nb::borrow(numpy_dtype(type.dtype()))));
    return arrays_from(called(python, rule("run"), given, outputs));
  }

 private:
  nb::object rule(const char* name) const { return nb::handle(object_.get()).attr(name); }

  const std::shared_ptr<PyObject> object_;
  const bool np_;
};

}  // namespace

void bind_custom(nb::module_& m) {
  nb::class_<CodeBlock>(m, "CustomCode")
      .def(nb::init<const char*>())
      .def("__enter__", &CodeBlock::enter)
      .def("__exit__", [](CodeBlock& self, nb::args) { self.exit(); });
  m.def(
      "set_custom_factory",
      [](nb::handle make) {
        PyObject* const factory = make.inc_ref().ptr();  // for as long as the process lives
        set_custom_factory([factory](const std::string& op_type, const CustomTexts& texts) {
          return with_library_errors([&](PythonCall& python) -> std::shared_ptr<const CustomProperty> {
            nb::dict arguments;
            for (const auto& [key, text] : texts) arguments[key.c_str()] = nb::str(text.c_str());
            return std::make_shared<const PythonProperty>(called(python, factory, nb::str(op_type.c_str()), arguments));
          });
        });
      },
      "`make(op_type, texts)` gives what a custom operator is asked for: see headrace/operator.py.");
}

}  // namespace headrace::python
