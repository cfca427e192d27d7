// CUDA code of the program's own, as headrace.mxnet.rtc sees it, which adds MXNet's keywords and checks.

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "gil.h"
#include "headrace/rtc.hpp"

namespace nb = nanobind;

namespace headrace::python {
namespace {

rtc::Argument argument_from(nb::handle given) {
  if (is_array(given.ptr())) return array_of(given.ptr());
  if (PyIndex_Check(given.ptr())) {
    const nb::object whole = nb::steal(PyNumber_Index(given.ptr()));
    const int64_t number = whole ? PyLong_AsLongLong(whole.ptr()) : -1;
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    return number;
  }
  const double number = PyFloat_AsDouble(given.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

}  // namespace

void bind_rtc(nb::module_& m) {
  m.def(
      "cuda_module",
      [](std::string source, std::vector<std::string> options, std::vector<std::string> exports) {
        return outside_python(
            [&] { return rtc::CudaModule(std::move(source), std::move(options), std::move(exports)); });
      },
      nb::arg("source"), nb::arg("options"), nb::arg("exports"));
  nb::class_<rtc::CudaModule>(m, "CudaModule", "Code that is compiled for the GPUs on which its kernels are launched.")
      .def(
          "get_kernel",
          [](const rtc::CudaModule& module, const std::string& name, const std::string& signature) {
            return outside_python([&] { return module.get_kernel(name, signature); });
          },
          nb::arg("name"), nb::arg("signature"));
  nb::class_<rtc::CudaKernel>(m, "CudaKernel", "A kernel of a CudaModule, with what it takes.")
      .def_prop_ro("name", &rtc::CudaKernel::name)
      .def(
          "launch",
          [](const rtc::CudaKernel& kernel, nb::handle arguments, int device, const rtc::Extents& grid,
             const rtc::Extents& block, int64_t shared_bytes) {
            translated([&] {
              std::vector<rtc::Argument> all;
              for (const nb::handle one : arguments) all.push_back(argument_from(one));
              const WithoutGil unlocked;
              kernel.launch(all, {DeviceType::kGpu, device}, grid, block, shared_bytes);
              return 0;
            });
          },
          nb::arg("arguments"), nb::arg("device"), nb::arg("grid"), nb::arg("block"), nb::arg("shared_bytes"));
}

}  // namespace headrace::python
