// headrace._core: the engine, arrays and operators as the Python package sees them.

#include <nanobind/nanobind.h>

#include <stdexcept>

#include "array.h"
#include "base/config.h"
#include "bindings.h"
#include "op_function.h"
#include "profiler/session.h"

namespace nb = nanobind;
using namespace headrace::python;

namespace {

// The first to read the environment. What it raises nanobind turns into an ImportError, whose text has to be UTF-8.
void start_profiler() {
  try {
    headrace::profiler::start_if_configured();
  } catch (const headrace::Error& error) {
    const auto text = nb::steal<nb::str>(readable(error.what()));
    throw std::runtime_error(text.c_str());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Arrays, operators, gradients and the engine of Headrace. Use the headrace package, not this module.";
  nb::set_leak_warnings(false);
  classes().base = make_array_type();
  if (!classes().base || !ready_op_function_type()) throw nb::python_error();
  m.attr("Array") = nb::borrow(reinterpret_cast<PyObject*>(classes().base));
  m.attr("__version__") = HEADRACE_VERSION;
  bind_arrays(m);
  bind_catalogue(m);
  bind_autograd(m);
  bind_engine(m);
  bind_profiler(m);
  bind_rtc(m);
  bind_random(m);
  bind_files(m);
  bind_images(m);
  bind_dlpack(m);
  bind_detours(m);
  bind_memory(m);
  bind_backward(m);
  bind_array_helpers(m);
  bind_sparse(m);
  bind_custom(m);
  bind_symbol(m);
  bind_graph_call(m);
  bind_updates(m);
  bind_plan(m);
  bind_hardware(m);
  bind_kvstore(m);
  bind_distributed(m);
  bind_sim(m);
  start_profiler();
  // What is queued may need the interpreter, to give back borrowed buffers or to run a custom Function.
  nb::module_::import_("atexit").attr("register")(m.attr("shutdown"));
}
