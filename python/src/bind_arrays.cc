// Making arrays from Python and NumPy data.

#include <nanobind/stl/vector.h>

#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "headrace/devices.hpp"
#include "kvstore/buckets.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/node.h"
#include "op/thread_state.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// First and last byte of the storage that an element lies in; of a view with elements.
std::pair<int64_t, int64_t> stretch(const View& view) {
  int64_t first = view.offset(), last = view.offset();
  for (size_t k = 0; k < view.shape().size(); ++k) {
    const int64_t reach = view.strides()[k] * (view.shape()[k] - 1);
    (reach < 0 ? first : last) += reach;
  }
  const auto size = static_cast<int64_t>(item_size(view.dtype()));
  return {first * size, (last + 1) * size - 1};
}

bool may_overlap(const View& a, const View& b) {
  if (a.storage() != b.storage() || a.size() == 0 || b.size() == 0) return false;
  const auto [first_a, last_a] = stretch(a);
  const auto [first_b, last_b] = stretch(b);
  return first_a <= last_b && first_b <= last_a;
}

// Shares the memory of an object with the buffer protocol; the array keeps the buffer until its storage goes.
NDArray borrow_buffer(PyObject* object) {
  free_what_is_due();
  auto* buffer = new Py_buffer;
  if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    delete buffer;
    throw PythonError();
  }
  const auto free_buffer = [](void* owner) {
    free_with_gil(owner, [](void* object) {
      PyBuffer_Release(static_cast<Py_buffer*>(object));
      delete static_cast<Py_buffer*>(object);
    });
  };
  std::string format = buffer->format ? buffer->format : "B";
  if (format == "l") format = "q";
  if (format == "L") format = "Q";
  for (int i = 0; i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    const char* known = buffer_format(dtype);
    if (!known || format != known) continue;
    Shape shape;
    for (int k = 0; k < buffer->ndim; ++k) shape.push_back(buffer->shape[k]);
    StoragePtr storage(new Storage(Device{}, static_cast<size_t>(buffer->len), buffer->buf, buffer, free_buffer));
    return NDArray(ViewPtr(new View(std::move(storage), dtype, shape)));
  }
  free_buffer(buffer);
  fail(ErrorKind::kType, "from_numpy: element format '{}' has no dtype here; convert the data to a number type first",
       format);
}

Device to_device(int type, int id) { return {static_cast<DeviceType>(type), id}; }

}  // namespace

void bind_arrays(nb::module_& m) {
  m.def(
      "set_class",
      [](nb::type_object type, bool np) {
        (np ? classes().np : classes().nd) = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
        adopt_class(np ? classes().np : classes().nd);
      },
      "Says which subclass of Array results of a front end have.");
  m.def(
      "array",
      [](nb::handle object, nb::object dtype, bool np) {
        return translated([&] {
          std::optional<DType> wanted;
          if (!dtype.is_none()) wanted = to_dtype(dtype.ptr());
          NDArray made;
          if (is_array(object.ptr())) {
            made = call("_copy", {array_of(object.ptr()).detach()});
          } else {
            made = from_object(object.ptr(), wanted);
          }
          if (wanted) made = cast_to(made, *wanted);
          return wrapped(std::move(made), np);
        });
      },
      nb::arg("object").none(), nb::arg("dtype").none(), nb::arg("np"),
      "A new array with a copy of the values of anything NumPy understands.");
  m.def(
      "borrow",
      [](nb::handle object, bool np) { return translated([&] { return wrapped(borrow_buffer(object.ptr()), np); }); },
      "An array over the memory of an object with the buffer protocol, without a copy.");
  m.def(
      "empty",
      [](nb::handle shape, nb::handle dtype, int device_type, int device_id, bool np) {
        return translated([&] {
          NDArray array =
              NDArray::empty(to_shape(shape.ptr(), "shape"), to_dtype(dtype.ptr()), to_device(device_type, device_id));
          return wrapped(std::move(array), np);
        });
      },
      nb::arg("shape").none(), nb::arg("dtype").none(), nb::arg("device_type"), nb::arg("device_id"), nb::arg("np"),
      "An array whose values are undefined.");
}

// Where `from` is recorded, `to` becomes a result of it.
void copy_passing_gradients(NDArray& to, const NDArray& from) {
  if (!thread_state().recording || !place_on_tape(from)) return copy_into(to, from);
  dispatch_detail::check_not_on_tape(find_op("_copy"), {&to, 1});
  const NDArray moved = cast_to(copyto(from, to.device()), to.dtype());
  copy_into(to, moved.detach());
  to.set_node(moved.node(), moved.output_index());
}

void bind_array_helpers(nb::module_& m) {
  m.def(
      "copy_into",
      [](nb::handle destination, nb::handle source) {
        translated([&] {
          array_from(destination);
          NDArray& to = array_of(destination.ptr());
          const NDArray& from = array_from(source);
          check(to.shape() == from.shape(), ErrorKind::kValue,
                "copyto: the source has shape {}, but the destination has shape {}", to_string(from.shape()),
                to_string(to.shape()));
          copy_passing_gradients(to, from);
          return 0;
        });
      },
      "Writes the values of `source`, cast to its dtype, into `destination`. What is recorded passes its gradient on.");
  m.def(
      "copy_to_device",
      [](nb::handle array, int device_type, int device_id) {
        return translated(
            [&] { return wrapped(copyto(array_from(array), to_device(device_type, device_id)), is_np(array.ptr())); });
      },
      "A copy on a device; gradients flow back through it.");
  m.def(
      "gradient_buckets",
      [](nb::handle gradients) { return translated([&] { return kvstore::buckets(arrays_from(gradients)); }); },
      "Places of gradients that are to travel together, of a list in the order in which backward completes them.");
  m.def(
      "may_share_memory",
      [](nb::handle a, nb::handle b) {
        return translated([&] { return may_overlap(*array_from(a).view(), *array_from(b).view()); });
      },
      nb::arg("a").none(), nb::arg("b").none(),
      "Whether two arrays are views of one storage, and the stretches of it that they lie in overlap.");
  m.def(
      "set_device", [](int type, int id) { thread_state().device = to_device(type, id); },
      "Sets the device on which this thread's creation functions put arrays.");
  m.def("set_grad_object", [](nb::handle array, nb::handle gradient) {
    auto* object = reinterpret_cast<PyArray*>(array.ptr());
    PyObject* old = object->grad;
    object->grad = gradient.is_none() ? nullptr : Py_NewRef(gradient.ptr());
    Py_XDECREF(old);
  });
  nb::list names;
  for (int i = 0; i < kDTypeCount; ++i) names.append(std::string(dtype_name(static_cast<DType>(i))).c_str());
  m.attr("dtype_names") = nb::tuple(names);  // by their numbers
  m.def(
      "dtype_flag",
      [](nb::handle dtype) { return translated([&] { return static_cast<int>(to_dtype(dtype.ptr())); }); },
      "The number that MXNet's files have for a dtype.");
  m.def(
      "dtype_name",
      [](nb::handle dtype) {
        return translated([&] { return nb::str(std::string(dtype_name(to_dtype(dtype.ptr()))).c_str()); });
      },
      "The library's name of anything that means a dtype.");
}

}  // namespace headrace::python
