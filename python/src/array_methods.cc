// Methods and properties of arrays that are not operators.

#include "array.h"
#include "autograd/autograd.h"
#include "base/check.h"
#include "convert.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"
#include "op/invoke_stored.h"
#include "op/thread_state.h"
#include "timeline/timeline.h"

namespace headrace::python {
namespace {

PyObject* asnumpy(PyObject* self, PyObject*) {
  return guarded([&] { return to_numpy(array_of(self)); });
}

// A Python scalar of the element's own kind.
PyObject* scalar_of(const NDArray& array) {
  Ref host(to_numpy(array));
  return checked(PyObject_CallMethod(host.get(), "item", nullptr));
}

PyObject* asscalar(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const NDArray& array = array_of(self);
    check(array.size() == 1, ErrorKind::kValue, "asscalar: the current array is not a scalar: it has shape {}",
          to_string(array.shape()));
    Ref host(to_numpy(array));
    Ref flat(checked(PyObject_CallMethod(host.get(), "reshape", "i", -1)));
    Ref zero(PyLong_FromLong(0));
    return PyObject_GetItem(flat.get(), zero.get());
  });
}

// The array, or, of bfloat16, which NumPy has as bits alone, its values as float32.
NDArray with_values_of_numpy(const NDArray& array) {
  return array.dtype() == DType::kBfloat16 ? cast_to(array.detach(), DType::kFloat32) : array;
}

PyObject* item(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(arguments) == 0) {
      check(array_of(self).size() == 1, ErrorKind::kValue,
            "item: only an array of one element has a single item; this one has shape {}",
            to_string(array_of(self).shape()));
      if (!wait_to_read(array_of(self))) throw PythonError();
      DType dtype = array_of(self).dtype();
      if (is_floating(dtype)) return PyFloat_FromDouble(array_of(self).item());
      return scalar_of(array_of(self));
    }
    Ref host(to_numpy(with_values_of_numpy(array_of(self))));
    Ref method(checked(PyObject_GetAttrString(host.get(), "item")));
    return PyObject_CallObject(method.get(), arguments);
  });
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref host(to_numpy(with_values_of_numpy(array_of(self))));
    return PyObject_CallMethod(host.get(), "tolist", nullptr);
  });
}

PyObject* wait(PyObject* self, PyObject*) {
  if (!wait_to_read(array_of(self))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* wait_for_all(PyObject* self, PyObject*) {
  if (!wait_to_write(array_of(self))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* detach(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(array_of(self).detach(), is_np(self)); });
}

// The same array seen as the other front end's class.
PyObject* as_class(PyObject* self, bool np) {
  if (is_np(self) == np) return Py_NewRef(self);
  PyObject* other = wrap(array_of(self), np);
  if (other) reinterpret_cast<PyArray*>(other)->grad = Py_XNewRef(reinterpret_cast<PyArray*>(self)->grad);
  return other;
}
PyObject* as_nd_ndarray(PyObject* self, PyObject*) { return as_class(self, false); }
PyObject* as_np_ndarray(PyObject* self, PyObject*) { return as_class(self, true); }

PyObject* copy(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(call("_copy", {array_of(self)}), is_np(self)); });
}

// What the gradient is stored as: as the array where nothing is said.
StorageKind gradient_kind(const NDArray& array, PyObject* stype) {
  return stype == Py_None ? array.storage_kind() : to_storage_kind(stype);
}

// attach_grad(grad_req='write', stype=None)
PyObject* attach_grad(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"grad_req", "stype", nullptr};
  const char* request = "write";
  PyObject* stype = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|sO:attach_grad", const_cast<char**>(names), &request, &stype))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const GradReq req = to_grad_req(request);
    NDArray& array = array_of(self);
    const StorageKind kind = gradient_kind(array, stype);
    const NDArray gradient = kind == StorageKind::kDense
                                 ? zeros_like(dense(array.detach()))
                                 : sparse::zeros(kind, array.shape(), array.dtype(), array.device());
    autograd::mark_variable(array, gradient, req);
    Ref object(checked(wrap(gradient.detach(), is_np(self))));
    const Ref before(std::exchange(reinterpret_cast<PyArray*>(self)->grad, object.release()));
    Py_RETURN_NONE;
  });
}

PyObject* drop_grad(PyObject* self, PyObject*) {
  Py_CLEAR(reinterpret_cast<PyArray*>(self)->grad);
  array_of(self).set_node(NodePtr(), 0);
  Py_RETURN_NONE;
}

// backward(out_grad=None, retain_graph=False, train_mode=True)
PyObject* backward(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"out_grad", "retain_graph", "train_mode", nullptr};
  PyObject* out_grad = Py_None;
  int retain_graph = 0, train_mode = 1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|Opp:backward", const_cast<char**>(names), &out_grad,
                                   &retain_graph, &train_mode))
    return nullptr;
  return guarded([&]() -> PyObject* {
    NDArray head_gradient;
    if (out_grad != Py_None) {
      check(is_array(out_grad), ErrorKind::kType, "backward: out_grad must be an array or None, got {}",
            Py_TYPE(out_grad)->tp_name);
      head_gradient = array_of(out_grad);
    }
    autograd::backward({&array_of(self), 1}, {&head_gradient, 1}, retain_graph, train_mode);
    Py_RETURN_NONE;
  });
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return from_shape(array_of(self).shape()); });
}
PyObject* get_strides(PyObject* self, void*) {
  return guarded([&] { return from_shape(array_of(self).strides()); });
}
PyObject* get_is_abstract(PyObject* self, void*) {
  return PyBool_FromLong(array_of(self) && !array_of(self).view()->storage());
}

PyObject* get_dtype_name(PyObject* self, void*) {
  auto name = dtype_name(array_of(self).dtype());
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* get_numpy_dtype(PyObject* self, void*) {
  return guarded([&] { return Py_NewRef(numpy_dtype(array_of(self).dtype())); });
}
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(array_of(self).size()); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromSize_t(array_of(self).ndim()); }
PyObject* get_device(PyObject* self, void*) {
  Device device = array_of(self).device();
  return Py_BuildValue("(ii)", static_cast<int>(device.type), device.id);
}
PyObject* get_grad(PyObject* self, void*) {
  const NodePtr& node = array_of(self).node();
  PyObject* grad = node && node->is_leaf && node->is_freed() ? nullptr : reinterpret_cast<PyArray*>(self)->grad;
  return Py_NewRef(grad ? grad : Py_None);
}
int set_grad(PyObject* self, PyObject* value, void*) {
  PyObject* old = reinterpret_cast<PyArray*>(self)->grad;
  reinterpret_cast<PyArray*>(self)->grad = value && value != Py_None ? Py_NewRef(value) : nullptr;
  Py_XDECREF(old);
  return 0;
}
PyObject* get_fresh_grad(PyObject* self, void*) {
  const NodePtr& node = array_of(self).node();
  return PyBool_FromLong(node && node->is_leaf && node->is_fresh);
}
int set_fresh_grad(PyObject* self, PyObject* value, void*) {
  const NodePtr& node = array_of(self).node();
  if (node && node->is_leaf) node->is_fresh = PyObject_IsTrue(value) == 1;
  return 0;
}
PyObject* get_on_tape(PyObject* self, void*) { return PyBool_FromLong(place_on_tape(array_of(self)) != nullptr); }
PyObject* get_is_none(PyObject* self, void*) { return PyBool_FromLong(!array_of(self)); }
PyObject* get_is_view_of_all(PyObject* self, void*) { return PyBool_FromLong(array_of(self).is_contiguous()); }

PyObject* get_stype(PyObject* self, void*) {
  return PyUnicode_FromString(storage_kind_name(array_of(self).storage_kind()));
}

PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

PyMethodDef array_methods[] = {
    {"asnumpy", asnumpy, METH_NOARGS, "asnumpy()\n--\n\nA NumPy array with a copy of the values. Waits for them."},
    {"_asscalar", asscalar, METH_NOARGS, nullptr},
    {"_item", item, METH_VARARGS, nullptr},
    {"tolist", tolist, METH_NOARGS, "tolist()\n--\n\nThe values as nested Python lists. Waits for them."},
    {"wait_to_read", wait, METH_NOARGS,
     "wait_to_read()\n--\n\nBlocks until every operation that writes the array is done; raises the error of a failed "
     "one."},
    {"wait_to_write", wait_for_all, METH_NOARGS,
     "wait_to_write()\n--\n\nBlocks until every operation that reads or writes the array is done."},
    {"detach", detach, METH_NOARGS, "detach()\n--\n\nThe same memory without a gradient history."},
    {"as_nd_ndarray", as_nd_ndarray, METH_NOARGS, "as_nd_ndarray()\n--\n\nThe same array as an nd.NDArray."},
    {"as_np_ndarray", as_np_ndarray, METH_NOARGS, "as_np_ndarray()\n--\n\nThe same array as an np.ndarray."},
    {"_copy", copy, METH_NOARGS, nullptr},
    {"attach_grad", with_keywords(attach_grad), METH_VARARGS | METH_KEYWORDS,
     "attach_grad(grad_req='write', stype=None)\n--\n\nMakes the array a variable: backward() collects its gradient in "
     "`grad`, which starts as zeros and is stored as `stype`, or as the array. `grad_req` is 'write', 'add' or 'null'. "
     "Earlier history is dropped."},
    {"drop_grad", drop_grad, METH_NOARGS, "drop_grad()\n--\n\nUndoes attach_grad."},
    {"backward", with_keywords(backward), METH_VARARGS | METH_KEYWORDS,
     "backward(out_grad=None, retain_graph=False, train_mode=True)\n--\n\nComputes the gradients of this array with "
     "respect to the variables it was recorded from. `out_grad` (ones by default) has the array's shape."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef array_properties[] = {
    {"shape", get_shape, nullptr, "Tuple of extents.", nullptr},
    {"stype", get_stype, nullptr, "What the array is stored as: 'default' (dense), 'row_sparse' or 'csr'.", nullptr},
    {"strides", get_strides, nullptr, "Tuple of strides, in elements.", nullptr},
    {"_dtype_name", get_dtype_name, nullptr, nullptr, nullptr},
    {"_is_abstract", get_is_abstract, nullptr, "Whether there are no values, the array being traced.", nullptr},
    {"_numpy_dtype", get_numpy_dtype, nullptr, nullptr, nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"_device", get_device, nullptr, nullptr, nullptr},
    {"grad", get_grad, nullptr, "The gradient array, or None before attach_grad().", nullptr},
    {"_grad", get_grad, set_grad, nullptr, nullptr},
    {"_fresh_grad", get_fresh_grad, set_fresh_grad, "Whether backward wrote the gradient since it was last used.",
     nullptr},
    {"_on_tape", get_on_tape, nullptr, nullptr, nullptr},
    {"_is_none", get_is_none, nullptr, nullptr, nullptr},
    {"_is_contiguous", get_is_view_of_all, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace headrace::python
