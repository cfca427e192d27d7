#include "convert.h"

#include <cmath>
#include <cstring>

#include "array.h"
#include "base/check.h"
#include "gil.h"
#include "ndarray/snapshot.h"
#include "op/invoke.h"
#include "op/invoke_stored.h"

namespace headrace::python {
namespace {

bool is_numpy_scalar(PyObject* object) {
  static constinit Imported generic("numpy", "generic");
  return PyObject_IsInstance(object, generic.get()) == 1;
}

// The number that an array of one element holds, whatever its dtype.
int64_t whole_number_of(const NDArray& array, const char* what) {
  constexpr double kBound = 0x1p63;
  const double number = array.item();
  check(number == std::trunc(number) && number >= -kBound && number < kBound, ErrorKind::kType,
        "{} must hold integers, got an array of {}", what, number);
  return static_cast<int64_t>(number);
}

int64_t to_int(PyObject* object, const char* what) {
  Ref index(PyNumber_Index(object));
  if (!index) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
    PyErr_Clear();
    if (is_array(object) && array_of(object).size() == 1) return whole_number_of(array_of(object), what);
    fail(ErrorKind::kType, "{} must hold integers, got an entry of type {}", what, Py_TYPE(object)->tp_name);
  }
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  check(overflow == 0, ErrorKind::kValue, "{}: a number is too large; integers from -2^63 to 2^63 - 1 are taken", what);
  return value;
}

// The items of a list, tuple, array or other sequence.
template <class F>
void for_each_item(PyObject* object, const char* what, F&& use) {
  Ref items(PySequence_Fast(object, what));
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) use(PySequence_Fast_GET_ITEM(items.get(), i));
}

// An integer, and not an array with axes, which has __index__, too.
bool is_single_integer(PyObject* object) {
  if (PyLong_Check(object)) return true;
  if (!PyIndex_Check(object)) return false;
  if (!PySequence_Check(object) || PySequence_Size(object) < 0) {
    PyErr_Clear();
    return true;
  }
  return false;
}

}  // namespace

std::optional<Number> as_number(PyObject* object) {
  if (PyFloat_Check(object)) return Number{PyFloat_AS_DOUBLE(object), false};
  if (PyLong_Check(object)) {  // bool too
    double value = PyLong_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return Number{value, true};
  }
  if (!is_numpy_scalar(object)) return std::nullopt;
  Ref number(PyNumber_Float(object));
  if (!number) {
    PyErr_Clear();
    return std::nullopt;
  }
  return Number{PyFloat_AS_DOUBLE(number.get()), PyIndex_Check(object) != 0};
}

Shape to_shape(PyObject* object, const char* what) {
  Shape shape;
  if (is_single_integer(object)) {
    shape.push_back(to_int(object, what));
    return shape;
  }
  for_each_item(object, what, [&](PyObject* item) { shape.push_back(to_int(item, what)); });
  return shape;
}

namespace {

template <class Matches>
std::optional<DType> first_dtype(Matches&& matches) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (const auto dtype = static_cast<DType>(i); matches(dtype)) return dtype;
  return std::nullopt;
}

}  // namespace

StorageKind to_storage_kind(PyObject* object) {
  check(PyUnicode_Check(object), ErrorKind::kType,
        "stype must be 'default', 'row_sparse' or 'csr', got an object of type {}", Py_TYPE(object)->tp_name);
  return parse_storage_kind(utf8(object));
}

GradReq to_grad_req(std::string_view word) {
  check(word == "write" || word == "add" || word == "null", ErrorKind::kKey,
        "grad_req must be 'write', 'add' or 'null', got '{}'", word);
  return word == "write" ? GradReq::kWrite : word == "add" ? GradReq::kAdd : GradReq::kNull;
}

DType to_dtype(PyObject* object) {
  if (PyUnicode_Check(object)) {
    const std::string_view name = utf8(object);
    if (const auto found = first_dtype([&](DType dtype) { return dtype_name(dtype) == name; })) return *found;
  }
  static constinit Imported make_dtype("numpy", "dtype");
  Ref dtype(PyObject_CallOneArg(make_dtype.get(), object));
  if (!dtype) {
    PyErr_Clear();
    Ref text(PyObject_Str(object));
    fail(ErrorKind::kType,
         "'{}' is not a dtype; known are float16, bfloat16, float32, float64, the signed and "
         "unsigned integers of 8 to 64 bits and bool",
         text ? utf8(text.get()) : "?");
  }
  // NumPy has one object for each, unless bytes are swapped; its name takes longer to find.
  if (const auto found = first_dtype([&](DType one) { return numpy_dtype(one) == dtype.get(); })) return *found;
  // A structured dtype is made anew each time.
  const int is_bfloat16 = PyObject_RichCompareBool(dtype.get(), numpy_dtype(DType::kBfloat16), Py_EQ);
  if (is_bfloat16 < 0) throw PythonError();
  if (is_bfloat16) return DType::kBfloat16;
  Ref name(checked(PyObject_GetAttrString(dtype.get(), "name")));
  return parse_dtype(utf8(name.get()));
}

PyObject* from_shape(const Shape& shape) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return tuple;
}

PyObject* numpy_dtype(DType dtype) {
  static PyObject* cache[kDTypeCount] = {};
  PyObject*& slot = cache[static_cast<size_t>(dtype)];
  if (!slot) {
    static constinit Imported make_dtype("numpy", "dtype");
    // NumPy has no bfloat16; its bits travel as a structured dtype, as in MXNet.
    const std::string name = dtype == DType::kBfloat16 ? "" : std::string(dtype_name(dtype));
    slot = dtype == DType::kBfloat16 ? checked(PyObject_CallFunction(make_dtype.get(), "[(ss)]", "bfloat16", "u2"))
                                     : checked(PyObject_CallFunction(make_dtype.get(), "s", name.c_str()));
  }
  return slot;
}

AttrValue to_attr_value(PyObject* object, const FieldInfo& field, const char* operation) {
  if (object == Py_None) return std::monostate{};
  if (field.kind == FieldKind::kDType) return to_dtype(object);
  if (PyUnicode_Check(object)) return std::string(utf8(object));
  if (field.kind == FieldKind::kString) {
    Ref text(checked(PyType_Check(object) ? PyObject_GetAttrString(object, "__name__") : PyObject_Str(object)));
    return std::string(utf8(text.get()));
  }
  if (PyBool_Check(object)) return object == Py_True;
  bool is_list =
      field.kind == FieldKind::kShape || field.kind == FieldKind::kOptionalInts || field.kind == FieldKind::kDoubles;
  if (!is_array(object) || !is_list) {
    if (is_array(object)) {
      check(array_of(object).size() == 1, ErrorKind::kType,
            "{}: argument '{}' must be a number, got an array of shape {}", operation, field.name,
            to_string(array_of(object).shape()));
      return array_of(object).item();
    }
    if (is_single_integer(object)) return to_int(object, field.name);
    if (std::optional<Number> number = as_number(object)) return number->value;
  }
  if (!is_list || !PySequence_Check(object))
    fail(ErrorKind::kType, "{}: argument '{}' cannot be of type {}", operation, field.name, Py_TYPE(object)->tp_name);
  if (field.kind == FieldKind::kDoubles) {
    Doubles numbers;
    for_each_item(object, field.name, [&](PyObject* item) {
      if (auto number = as_number(item))
        numbers.push_back(number->value);
      else
        fail(ErrorKind::kType, "{}: argument '{}' must hold numbers", operation, field.name);
    });
    return numbers;
  }
  if (field.kind == FieldKind::kOptionalInts) {
    OptionalInts items;
    for_each_item(object, field.name, [&](PyObject* item) {
      if (item == Py_None)
        items.push_back(std::nullopt);
      else
        items.push_back(to_int(item, field.name));
    });
    return items;
  }
  return to_shape(object, field.name);
}

PyObject* from_attr_value(const AttrValue& value) {
  struct Convert {
    PyObject* operator()(std::monostate) const { Py_RETURN_NONE; }
    PyObject* operator()(bool flag) const { return PyBool_FromLong(flag); }
    PyObject* operator()(int64_t number) const { return PyLong_FromLongLong(number); }
    PyObject* operator()(double number) const { return PyFloat_FromDouble(number); }
    PyObject* operator()(const std::string& text) const { return PyUnicode_FromString(text.c_str()); }
    PyObject* operator()(DType dtype) const { return PyUnicode_FromString(std::string(dtype_name(dtype)).c_str()); }
    PyObject* operator()(const Shape& shape) const { return from_shape(shape); }
    PyObject* operator()(const OptionalInts& items) const {
      PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
      for (size_t i = 0; i < items.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i),
                         items[i] ? PyLong_FromLongLong(*items[i]) : Py_NewRef(Py_None));
      return tuple;
    }
    PyObject* operator()(const Doubles& numbers) const {
      PyObject* list = PyList_New(static_cast<Py_ssize_t>(numbers.size()));
      for (size_t i = 0; i < numbers.size(); ++i)
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyFloat_FromDouble(numbers[i]));
      return list;
    }
  };
  return checked(std::visit(Convert{}, value));
}

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kFloat16:
      return "e";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return "q";
    case DType::kUint8:
      return "B";
    case DType::kUint16:
      return "H";
    case DType::kUint32:
      return "I";
    case DType::kUint64:
      return "Q";
    case DType::kBool:
      return "?";
    case DType::kBfloat16:
      return nullptr;
  }
  return nullptr;
}

namespace {
// Numbers that the dtype does not hold keep their low bits, which younger versions of NumPy refuse.
Ref as_numpy(PyObject* asarray, PyObject* object, PyObject* dtype) {
  PyErr_Clear();
  const Ref wide(PyObject_CallFunctionObjArgs(asarray, object, nullptr));
  return Ref(wide ? PyObject_CallMethod(wide.get(), "astype", "O", dtype) : nullptr);
}

DType dtype_of_numpy(PyObject* array) {
  const Ref dtype(checked(PyObject_GetAttrString(array, "dtype")));
  try {
    return to_dtype(dtype.get());
  } catch (const Error&) {
    Ref text(PyObject_Str(dtype.get()));
    fail(ErrorKind::kType, "array: NumPy dtype {} has no counterpart here; convert the data to a number type first",
         text ? utf8(text.get()) : "?");
  }
}
// The same values in the byte order of this machine.
Ref native(Ref array) {
  const Ref dtype(checked(PyObject_GetAttrString(array.get(), "dtype")));
  const Ref is_native(checked(PyObject_GetAttrString(dtype.get(), "isnative")));
  if (is_native.get() == Py_True) return array;
  const Ref ours(checked(PyObject_CallMethod(dtype.get(), "newbyteorder", "s", "=")));
  return Ref(checked(PyObject_CallMethod(array.get(), "astype", "O", ours.get())));
}
}  // namespace

NDArray from_object(PyObject* object, std::optional<DType> dtype) {
  static constinit Imported asarray("numpy", "asarray");
  // bfloat16 is no number of NumPy's: the caller converts.
  const std::optional<DType> wanted = dtype == DType::kBfloat16 ? DType::kFloat32 : dtype;
  PyObject* const target = wanted ? numpy_dtype(*wanted) : Py_None;
  static PyObject* const row_major = PyUnicode_InternFromString("C");
  Ref converted(PyObject_CallFunctionObjArgs(asarray.get(), object, target, row_major, nullptr));
  if (!converted && wanted && PyErr_ExceptionMatches(PyExc_OverflowError))
    converted = as_numpy(asarray.get(), object, target);
  if (!converted) throw PythonError();
  if (!wanted) converted = native(std::move(converted));
  const DType stored = wanted ? *wanted : dtype_of_numpy(converted.get());
  Py_buffer view;
  if (PyObject_GetBuffer(converted.get(), &view, PyBUF_C_CONTIGUOUS) != 0) throw PythonError();
  const Shape shape(view.shape, view.shape + view.ndim);
  NDArray array;
  try {
    array = NDArray::from_host(view.buf, shape, stored);
  } catch (...) {
    PyBuffer_Release(&view);
    throw;
  }
  PyBuffer_Release(&view);
  return array;
}

NDArray beside(NDArray array, Device device) {
  return needs_device_copy(device, array.device()) ? copied_to(array, device) : array;
}

PyObject* to_numpy(const NDArray& given) {
  const NDArray array = snapshot(given.storage_kind() == StorageKind::kDense ? given : dense(given.detach()));
  if (!wait_to_read(array)) throw PythonError();
  static constinit Imported empty("numpy", "empty");
  Ref shape(from_shape(array.shape()));
  Ref result(checked(PyObject_CallFunctionObjArgs(empty.get(), shape.get(), numpy_dtype(array.dtype()), nullptr)));
  Py_buffer view;
  if (PyObject_GetBuffer(result.get(), &view, PyBUF_C_CONTIGUOUS) != 0) throw PythonError();
  try {
    std::optional<WithoutGil> unlocked;
    if (array.size() > 100000) unlocked.emplace();
    copy_values(array, view.buf);
  } catch (...) {
    PyBuffer_Release(&view);
    throw;
  }
  PyBuffer_Release(&view);
  return result.release();
}

KindNames names_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::kBool:
      return {"bool", "bool"};
    case FieldKind::kInt:
      return {"int", "int"};
    case FieldKind::kDouble:
    case FieldKind::kNumber:
      return {"float", "float"};
    case FieldKind::kString:
      return {"str", "str"};
    case FieldKind::kDType:
      return {"dtype", "dtype"};
    case FieldKind::kShape:
      return {"shape", "tuple of ints"};
    case FieldKind::kOptionalInts:
      return {"slice", "tuple of ints"};
    case FieldKind::kDoubles:
      return {"floats", "tuple of floats"};
  }
  __builtin_unreachable();
}

AttrsPtr attrs_from(const OpDef& op, PyObject* dict) {
  IntrusivePtr<Attrs> made = op.make_attrs();
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &key, &value);) {
    const char* const name = utf8(key);
    const FieldInfo* const field = op.schema->find(name);
    check(field != nullptr, ErrorKind::kType, "{}: there is no argument named '{}'", op.shown_name(), name);
    field->set(made->mutable_data(), to_attr_value(value, *field, op.shown_name()), *field, op.shown_name());
  }
  return AttrsPtr(made.get());
}

}  // namespace headrace::python
