// Python's operators on arrays: the shortest way from `x + 1` to the engine.

#include "array.h"
#include "base/check.h"
#include "base/config.h"
#include "convert.h"
#include "ndarray/snapshot.h"
#include "op/borrowed_arrays.h"
#include "op/invoke.h"
#include "op/trace.h"
#include "op_call.h"
#include "ops/pointwise/binary.h"

namespace headrace::python {

namespace {

// A NumPy array beside an nd array of this dtype. As nd arrays of two dtypes do not mix it takes that dtype, unless
// fractions would be lost; libraries that plot rely on the TypeError for an array without dimensions.
NDArray joining_nd(NDArray array, DType dtype, const std::string& name) {
  check(array.ndim() > 0, ErrorKind::kType,
        "{}: a NumPy array without dimensions does not mix with nd arrays, which have one at least; give its item()",
        name);
  return is_floating(dtype) || !is_floating(array.dtype()) ? cast_to(array, dtype) : array;
}

}  // namespace

PyObject* call_binary(const PairForms& forms, PyObject* a, PyObject* b, PyObject* out) {
  bool a_is_array = is_array(a), b_is_array = is_array(b);
  NDArray result;
  if (out) result = array_of(out);
  if (a_is_array && b_is_array) {
    invoke(*forms.both, forms.both->default_attrs, BorrowedArrays(array_of(a), array_of(b)), {&result, 1});
    return finish(std::move(result), forms.np, out);
  }
  PyObject* other = a_is_array ? b : a;
  if (std::optional<Number> number = as_number(other)) {
    const OpDef* op = a_is_array ? forms.right : forms.left;
    check(op != nullptr, ErrorKind::kType, "{}: a number is not accepted beside an array", forms.both->name);
    // MXNet's rule: every number counts as an integer, so that integers keep their dtype beside 1.5, which is cut to 1.
    // C++ keeps the fraction (headrace/arithmetic.hpp).
    AttrsPtr attrs = headrace::make_attrs(ScalarAttrs{.scalar = number->value, .is_int = true});
    invoke(*op, attrs, {&array_of(a_is_array ? a : b), 1}, {&result, 1});
    return finish(std::move(result), forms.np, out);
  }
  if (!PyObject_HasAttrString(other, "__array_interface__")) Py_RETURN_NOTIMPLEMENTED;
  const NDArray& array = array_of(a_is_array ? a : b);
  NDArray converted = beside(from_object(other, std::nullopt), array.device());
  if (!forms.np) converted = joining_nd(std::move(converted), array.dtype(), forms.both->name);
  const BorrowedArrays inputs(a_is_array ? array_of(a) : converted, a_is_array ? converted : array_of(b));
  invoke(*forms.both, forms.both->default_attrs, inputs, {&result, 1});
  return finish(std::move(result), forms.np, out);
}

PyObject* finish(NDArray result, bool np, PyObject* out) {
  static const bool errors_at_once = config().errors_at_once;
  if (errors_at_once && !is_abstract(result)) result.wait_to_read();
  if (!out) return wrap(std::move(result), np);
  array_of(out) = std::move(result);
  return Py_NewRef(out);
}

namespace {

// The forms of one operator, looked up once.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

struct BothFrontEnds {
  PairForms nd, np;
};

template <Name kName>
const BothFrontEnds& forms_of() {
  static const BothFrontEnds forms = [] {
    const BinaryForms* f = find_binary(kName.text);
    check(f != nullptr, ErrorKind::kNotImplemented, "arrays have no operator '{}'", kName.text);
    return BothFrontEnds{{f->nd, f->nd_scalar, f->scalar_nd, false}, {f->np, f->np_scalar, f->scalar_np, true}};
  }();
  return forms;
}

// `a OP b` as Python's operators mean it.
template <Name kName>
PyObject* operate(PyObject* a, PyObject* b, PyObject* out) {
  bool a_is_array = is_array(a);
  bool np = is_np(a_is_array ? a : b);
  if (a_is_array && is_array(b) && np != is_np(b)) {
    PyErr_SetString(PyExc_TypeError,
                    "operands mix an nd.NDArray and an np.ndarray; convert one with as_np_ndarray() or "
                    "as_nd_ndarray()");
    return nullptr;
  }
  const PairForms& forms = np ? forms_of<kName>().np : forms_of<kName>().nd;
  if (!forms.both) Py_RETURN_NOTIMPLEMENTED;
  return call_binary(forms, a, b, out);
}

template <Name kName>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&] { return operate<kName>(a, b, nullptr); });
}

// Raises where storing the result would drop what it is: floats in integers, numbers in bools.
void check_kept_kind(const char* name, DType target, DType result) {
  const auto kind = [](DType dtype) { return dtype == DType::kBool ? 0 : is_floating(dtype) ? 2 : 1; };
  check(kind(result) <= kind(target), ErrorKind::kType,
        "{}: the result is {}, which an {} array does not take in place; write x = x + y, or convert one of them with "
        "astype",
        name, dtype_name(result), dtype_name(target));
}

template <Name kName>
PyObject* inplace(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const NDArray& target = array_of(a);
    const bool fits = !is_np(a) || (is_array(b) ? array_of(b).dtype() == target.dtype() : as_number(b).has_value());
    if (!fits) {
      // The result may be wider than the target: compute it, then store it back.
      PyObject* result = checked(operate<kName>(a, b, nullptr));
      Ref holder(result);
      if (result == Py_NotImplemented) return holder.release();
      check_kept_kind(kName.text, target.dtype(), array_of(result).dtype());
      dispatch_detail::check_not_on_tape(*forms_of<kName>().np.both, {&target, 1});
      copy_into(target, array_of(result));
      return Py_NewRef(a);
    }
    return operate<kName>(a, b, a);
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of arrays takes two arguments");
    return nullptr;
  }
  return binary<"power">(a, b);
}

template <Name kName>
PyObject* unary(PyObject* self) {
  return guarded([&] {
    static const OpDef& op = find_op(kName.text);
    NDArray result;
    invoke(op, op.default_attrs, {&array_of(self), 1}, {&result, 1});
    return wrap(std::move(result), is_np(self));
  });
}

// Of bools it is a whole number, as in MXNet.
PyObject* negative(PyObject* self) {
  if (!is_np(self) || array_of(self).dtype() != DType::kBool) return unary<"negative">(self);
  Ref minus_one(PyLong_FromLong(-1));
  return binary<"multiply">(self, minus_one.get());
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (!is_array(a) || !is_array(b) || !is_np(a) || !is_np(b)) Py_RETURN_NOTIMPLEMENTED;
    static const OpDef& op = find_op("_npi_matmul");
    NDArray result;
    invoke(op, op.default_attrs, BorrowedArrays(array_of(a), array_of(b)), {&result, 1});
    return wrap(std::move(result), true);
  });
}

// The value of a one-element array.
double only_value(PyObject* self, const char* what) {
  const NDArray& array = array_of(self);
  if (array.size() != 1)
    throw Error(ErrorKind::kType, fmt::format("{}: only an array of one element converts to a Python scalar; this one "
                                              "has shape {}",
                                              what, to_string(array.shape())));
  const NDArray host = snapshot(array);
  if (!wait_to_read(host)) throw PythonError();
  return headrace::only_value(host);
}

int truth(PyObject* self) {
  const NDArray& array = array_of(self);
  if (array.size() == 0) return 0;
  if (array.size() > 1) {
    PyErr_SetString(PyExc_ValueError,
                    "The truth value of an array with multiple elements is ambiguous; use any() or all()");
    return -1;
  }
  int result = -1;
  Ref done(guarded([&]() -> PyObject* {
    result = only_value(self, "bool") != 0;
    Py_RETURN_NONE;
  }));
  return done ? result : -1;
}

PyObject* as_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(only_value(self, "float")); });
}

PyObject* as_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (is_floating(array_of(self).dtype())) {
      Ref value(PyFloat_FromDouble(only_value(self, "int")));
      return PyNumber_Long(value.get());
    }
    if (array_of(self).size() == 1 && !wait_to_read(array_of(self))) throw PythonError();
    only_value(self, "int");
    Ref value(to_numpy(array_of(self)));
    Ref item(PyObject_CallMethod(value.get(), "item", nullptr));
    return item ? PyNumber_Long(item.get()) : nullptr;
  });
}

PyObject* as_index(PyObject* self) {
  DType dtype = array_of(self).dtype();
  if (!is_integer(dtype) || array_of(self).size() != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer arrays of one element can be converted to an index");
    return nullptr;
  }
  return as_int(self);
}

}  // namespace

PyObject* array_richcompare(PyObject* a, PyObject* b, int operation) {
  return guarded([&]() -> PyObject* {
    switch (operation) {
      case Py_EQ:
        return operate<"equal">(a, b, nullptr);
      case Py_NE:
        return operate<"not_equal">(a, b, nullptr);
      case Py_LT:
        return operate<"less">(a, b, nullptr);
      case Py_LE:
        return operate<"less_equal">(a, b, nullptr);
      case Py_GT:
        return operate<"greater">(a, b, nullptr);
      default:
        return operate<"greater_equal">(a, b, nullptr);
    }
  });
}

// As in MXNet `x **= y` is `x = x ** y`, a new array, and so are `//=`, `@=`, `<<=` and `>>=`.
PyNumberMethods number_methods = [] {
  PyNumberMethods m{};
  m.nb_add = binary<"add">;
  m.nb_subtract = binary<"subtract">;
  m.nb_multiply = binary<"multiply">;
  m.nb_true_divide = binary<"divide">;
  m.nb_remainder = binary<"mod">;
  m.nb_power = power;
  m.nb_matrix_multiply = matrix_multiply;
  m.nb_floor_divide = binary<"floor_divide">;
  m.nb_and = binary<"bitwise_and">;
  m.nb_or = binary<"bitwise_or">;
  m.nb_xor = binary<"bitwise_xor">;
  m.nb_lshift = binary<"left_shift">;
  m.nb_rshift = binary<"right_shift">;
  m.nb_inplace_add = inplace<"add">;
  m.nb_inplace_subtract = inplace<"subtract">;
  m.nb_inplace_multiply = inplace<"multiply">;
  m.nb_inplace_true_divide = inplace<"divide">;
  m.nb_inplace_remainder = inplace<"mod">;
  m.nb_inplace_and = inplace<"bitwise_and">;
  m.nb_inplace_or = inplace<"bitwise_or">;
  m.nb_inplace_xor = inplace<"bitwise_xor">;
  m.nb_negative = negative;
  m.nb_positive = unary<"_copy">;
  m.nb_absolute = unary<"abs">;
  m.nb_invert = unary<"_npi_bitwise_not">;
  m.nb_bool = truth;
  m.nb_int = as_int;
  m.nb_float = as_float;
  m.nb_index = as_index;
  return m;
}();

}  // namespace headrace::python
