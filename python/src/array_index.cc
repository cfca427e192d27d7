// x[key] and x[key] = value. Integers, slices, None and Ellipsis are handled here and give views; all other keys go to
// headrace/_indexing.py.

#include <string_view>

#include "array.h"
#include "base/check.h"
#include "convert.h"
#include "engine/runtime.h"
#include "op/invoke.h"
#include "op/thread_state.h"
#include "op/trace.h"
#include "ops/index/basic_index.h"

namespace headrace::python {
namespace {

struct BasicKey {
  Shape steps;        // BasicIndexAttrs::key
  size_t axes = 0;    // axes consumed
  size_t kept = 0;    // dimensions of the result that the key makes
  bool whole = true;  // selects everything in order
};

enum class Parsed { kBasic, kAdvanced };

bool is_index_integer(PyObject* item) {
  if (PyBool_Check(item) || is_array(item)) return false;
  if (PyLong_Check(item)) return true;
  // Some versions of NumPy let their bool, numpy.bool_ or numpy.bool, pass for an integer.
  return PyIndex_Check(item) && !PySequence_Check(item) &&
         !std::string_view(Py_TYPE(item)->tp_name).starts_with("numpy.bool");
}

// Counted from the front.
int64_t position_of(PyObject* item, const Shape& shape, size_t axis) {
  int64_t i = PyNumber_AsSsize_t(item, PyExc_IndexError);  // an integer beyond 64 bits is out of bounds
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  check(axis < shape.size(), ErrorKind::kIndex, "index: too many indices: the array has {} dimension(s), shape {}",
        shape.size(), to_string(shape));
  int64_t extent = shape[axis];
  check(i >= -extent && i < extent, ErrorKind::kIndex, "index {} is out of bounds for axis {} with size {}", i, axis,
        extent);
  return i < 0 ? i + extent : i;
}

void add_integer(BasicKey& key, const Shape& shape, PyObject* item) {
  const int64_t position = position_of(item, shape, key.axes);
  for (int64_t word : {int64_t{0}, position, int64_t{1}, int64_t{1}}) key.steps.push_back(word);
  ++key.axes;
  key.whole = false;
}

struct Range {
  Py_ssize_t start, step, count;
  bool whole;
};

Range range_of(PyObject* slice, int64_t extent) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) != 0) throw PythonError();
  const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(extent), &start, &stop, step);
  return {count == 0 ? 0 : start, step, count, count == extent && step == 1};
}

void add_slice(BasicKey& key, const Shape& shape, PyObject* item) {
  check(key.axes < shape.size(), ErrorKind::kIndex, "index: too many indices: the array has {} dimension(s), shape {}",
        shape.size(), to_string(shape));
  const Range range = range_of(item, shape[key.axes]);
  for (int64_t word : {int64_t{1}, int64_t{range.start}, int64_t{range.step}, int64_t{range.count}})
    key.steps.push_back(word);
  key.whole &= range.whole;
  ++key.axes;
  ++key.kept;
}

void add_whole_axes(BasicKey& key, const Shape& shape, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    for (int64_t word : {int64_t{1}, int64_t{0}, int64_t{1}, shape[key.axes]}) key.steps.push_back(word);
    ++key.axes;
    ++key.kept;
  }
}

// One entry of a key, Ellipsis excepted.
Parsed add_item(BasicKey& key, const Shape& shape, PyObject* item) {
  if (is_index_integer(item)) {
    add_integer(key, shape, item);
  } else if (PySlice_Check(item)) {
    add_slice(key, shape, item);
  } else if (item == Py_None) {
    for (int64_t word : {2, 0, 1, 1}) key.steps.push_back(word);
    ++key.kept;
    key.whole = false;
  } else {
    return Parsed::kAdvanced;
  }
  return Parsed::kBasic;
}

Parsed parse(BasicKey& key, const Shape& shape, PyObject* object) {
  if (!PyTuple_Check(object)) {
    if (object == Py_Ellipsis) return Parsed::kBasic;
    return add_item(key, shape, object);
  }
  Py_ssize_t count = PyTuple_GET_SIZE(object);
  size_t consumed = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(object, i);
    if (item == Py_Ellipsis)
      ++ellipses;
    else if (is_index_integer(item) || PySlice_Check(item))
      ++consumed;
    else if (item != Py_None)
      return Parsed::kAdvanced;
  }
  check(ellipses <= 1, ErrorKind::kIndex, "index: only one ellipsis ('...') is allowed in an index");
  check(consumed <= shape.size(), ErrorKind::kIndex,
        "index: too many indices: {} were given, but the array has {} dimension(s), shape {}", consumed, shape.size(),
        to_string(shape));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(object, i);
    if (item == Py_Ellipsis)
      add_whole_axes(key, shape, shape.size() - consumed);
    else
      add_item(key, shape, item);
  }
  return Parsed::kBasic;
}

bool is_recorded(const NDArray& array) { return thread_state().recording && place_on_tape(array); }

// Whether a selection is an operation and no mere view: on the tape, or of values that are not there yet.
bool is_operation_on(const NDArray& array) { return is_recorded(array) || is_abstract(array); }

NDArray select(const NDArray& array, const BasicKey& key) {
  const View& view = *array.view();
  if (!is_operation_on(array)) return view_of(array, indexed({view.shape(), view.strides(), view.offset()}, key.steps));
  static const OpDef& op = find_op("_basic_index");
  NDArray result;
  invoke(op, headrace::make_attrs(BasicIndexAttrs{.key = key.steps, .shape = {}}), {&array, 1}, {&result, 1});
  return result;
}

// nd arrays have no zero-dimensional results: a single element has shape (1,).
NDArray select_nd(const NDArray& array, BasicKey& key) {
  if (key.kept == 0 && key.axes == array.ndim() && array.ndim() > 0) {
    for (int64_t word : {2, 0, 1, 1}) key.steps.push_back(word);
  }
  return select(array, key);
}

PyObject* advanced(const char* function, PyObject* self, PyObject* key, PyObject* value) {
  static constinit Imported module("headrace._indexing");
  Ref name(PyUnicode_InternFromString(function));
  return PyObject_CallMethodObjArgs(module.get(), name.get(), self, key, value, nullptr);
}

// What is assigned, as an array of the destination's dtype.
NDArray value_to_assign(PyObject* self, PyObject* value, const NDArray& destination) {
  if (is_array(value)) {
    check(is_np(value) == is_np(self), ErrorKind::kType,
          "assignment: cannot mix nd and np arrays; convert one with as_np_ndarray() or as_nd_ndarray()");
    return array_of(value);
  }
  if (std::optional<Number> number = as_number(value))
    return full({}, number->value, destination.dtype(), destination.device());
  if (PyUnicode_Check(value) || value == Py_None || PyDict_Check(value))
    fail(ErrorKind::kType, "assignment: a value of type {} cannot be assigned to an array of {}",
         Py_TYPE(value)->tp_name, dtype_name(destination.dtype()));
  return from_object(value, std::nullopt);
}

NDArray broadcast_to_shape(const NDArray& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  NDArray trimmed = value;
  // NumPy lets leading axes of extent 1 go.
  while (trimmed.ndim() > shape.size() && trimmed.shape()[0] == 1)
    trimmed = call("_reshape_to", {trimmed}, {{"shape", Shape(trimmed.shape().begin() + 1, trimmed.shape().end())}});
  bool fits = trimmed.ndim() <= shape.size();
  for (size_t i = 0; fits && i < trimmed.ndim(); ++i) {
    int64_t have = trimmed.shape()[i], need = shape[shape.size() - trimmed.ndim() + i];
    fits = have == need || have == 1;
  }
  check(fits, ErrorKind::kValue, "assignment: a value of shape {} cannot be broadcast to the selection's shape {}",
        to_string(value.shape()), to_string(shape));
  return call("_broadcast_shape", {trimmed}, {{"shape", shape}});
}

void assign(PyObject* self, const BasicKey& key, PyObject* value) {
  NDArray& array = array_of(self);
  NDArray given = value_to_assign(self, value, array);
  static const OpDef& op = find_op("_basic_index_assign");
  dispatch_detail::check_not_on_tape(op, {&array, 1});
  NDArray place = select(array.detach(), key);
  NDArray broadcast = broadcast_to_shape(given.detach(), place.shape());
  // x[1:] = x[:-1] reads what it writes: copy first.
  if (broadcast.view()->storage() == place.view()->storage()) broadcast = call("_copy", {broadcast});
  copy_into(place, broadcast);
  if (is_recorded(given)) {
    NDArray inputs[2] = {array, cast_to(given, array.dtype())};
    AttrsPtr attrs = headrace::make_attrs(BasicIndexAttrs{.key = key.steps, .shape = {}});
    dispatch_detail::record(op, attrs, inputs, {&array, 1});
  }
}

// The commonest keys, batches and rows, without detours. Null: another key, or an operation.
PyObject* first_axis_of(PyObject* self, PyObject* key) {
  const NDArray& array = array_of(self);
  if (is_operation_on(array) || array.ndim() == 0) return nullptr;
  const View& view = *array.view();
  const bool np = is_np(self);
  if (PySlice_Check(key)) {
    const Range range = range_of(key, array.shape()[0]);
    if (range.whole) return Py_NewRef(self);
    return wrap(NDArray(ViewPtr(new View(view, range.start, range.step, range.count))), np);
  }
  if (!PyLong_CheckExact(key)) return nullptr;
  const int64_t position = position_of(key, array.shape(), 0);
  // nd arrays have no zero-dimensional results.
  ViewPtr entry(np || array.ndim() > 1 ? new View(view, position) : new View(view, position, 1, 1));
  return wrap(NDArray(std::move(entry)), np);
}

}  // namespace

PyObject* array_subscript(PyObject* self, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const NDArray& array = array_of(self);
    if (PyObject* view = first_axis_of(self, object)) return view;
    BasicKey key;
    if (parse(key, array.shape(), object) == Parsed::kAdvanced) return advanced("get", self, object, nullptr);
    if (PySlice_Check(object) && key.whole) return Py_NewRef(self);
    bool np = is_np(self);
    return wrap(np ? select(array, key) : select_nd(array, key), np);
  });
}

int array_assign_subscript(PyObject* self, PyObject* object, PyObject* value) {
  Ref done(guarded([&]() -> PyObject* {
    check(value != nullptr, ErrorKind::kType, "elements of an array cannot be deleted");
    BasicKey key;
    if (parse(key, array_of(self).shape(), object) == Parsed::kAdvanced) return advanced("assign", self, object, value);
    assign(self, key, value);
    Py_RETURN_NONE;
  }));
  return done ? 0 : -1;
}

}  // namespace headrace::python
