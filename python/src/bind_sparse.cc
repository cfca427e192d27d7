// Sparse arrays: made of parts, taken apart.
#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "headrace/sparse.hpp"

namespace nb = nanobind;

namespace headrace::python {
namespace {

const NDArray& array_in(nb::handle object, const char* what) {
  check(is_array(object.ptr()), ErrorKind::kType, "{}: an array is needed, got {}", what,
        Py_TYPE(object.ptr())->tp_name);
  return array_of(object.ptr());
}

nb::object wrapped_nd(NDArray array) { return nb::steal(checked(wrap(std::move(array), false))); }

}  // namespace

void bind_sparse(nb::module_& m) {
  m.def(
      "set_sparse_class",
      [](const char* stype, nb::type_object type) {
        translated([&] {
          const auto kind = static_cast<size_t>(parse_storage_kind(stype));
          classes().sparse[kind] = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
        });
      },
      "Says which subclass of Array sparse results have.");
  m.def(
      "row_sparse",
      [](nb::handle values, nb::handle indices, nb::handle shape) {
        return translated([&] {
          return wrapped_nd(sparse::row_sparse(array_in(values, "row_sparse_array"),
                                               array_in(indices, "row_sparse_array"), to_shape(shape.ptr(), "shape")));
        });
      },
      "A row_sparse array of its parts.");
  m.def(
      "csr",
      [](nb::handle values, nb::handle indices, nb::handle indptr, nb::handle shape) {
        return translated([&] {
          return wrapped_nd(sparse::csr(array_in(values, "csr_matrix"), array_in(indices, "csr_matrix"),
                                        array_in(indptr, "csr_matrix"), to_shape(shape.ptr(), "shape")));
        });
      },
      "A csr array of its parts.");
  m.def(
      "sparse_zeros",
      [](nb::handle stype, nb::handle shape, nb::handle dtype) {
        return translated([&] {
          return wrapped_nd(
              sparse::zeros(to_storage_kind(stype.ptr()), to_shape(shape.ptr(), "shape"), to_dtype(dtype.ptr())));
        });
      },
      "A sparse array in which nothing is stored.");
  m.def(
      "sparse_part",
      [](nb::handle object, const char* part) {
        return translated([&] {
          const NDArray& array = array_in(object, part);
          if (!wait_to_read(array)) throw PythonError();
          const std::string_view name = part;
          return wrapped_nd(name == "indices"  ? sparse::indices_of(array)
                            : name == "indptr" ? sparse::indptr_of(array)
                                               : sparse::values_of(array));
        });
      },
      "A copy of one part, 'data', 'indices' or 'indptr', of a sparse array.");
}

}  // namespace headrace::python
