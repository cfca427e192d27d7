#include "headrace/arithmetic.hpp"

#include <string>

#include "op/borrowed_arrays.h"
#include "op/invoke.h"

namespace headrace {
namespace {

struct Forms {
  explicit Forms(const std::string& name) : arrays(find_op(name)), scalar(find_op(name + "_scalar")) {}

  const OpDef& arrays;
  const OpDef& scalar;  // of an array and a number, in this order
};

const Forms& add() {
  static const Forms forms("_npi_add");
  return forms;
}
const Forms& subtract() {
  static const Forms forms("_npi_subtract");
  return forms;
}
const Forms& multiply() {
  static const Forms forms("_npi_multiply");
  return forms;
}
const Forms& divide() {
  static const Forms forms("_npi_true_divide");
  return forms;
}

AttrsPtr scalar_attrs(Scalar y) { return make_attrs(ScalarAttrs{y.value, y.is_integer}); }

NDArray apply(const OpDef& op, const NDArray& x, const NDArray& y) {
  NDArray result;
  invoke(op, op.default_attrs, BorrowedArrays(x, y), {&result, 1});
  return result;
}

NDArray apply(const OpDef& op, const NDArray& x, Scalar y) {
  NDArray result;
  invoke(op, scalar_attrs(y), {&x, 1}, {&result, 1});
  return result;
}

NDArray& assign(const OpDef& op, NDArray& x, const NDArray& y) {
  if (x && y && x.dtype() != y.dtype()) {
    // The result may be wider than x: it is computed, then stored back.
    dispatch_detail::check_not_on_tape(op, {&x, 1});
    NDArray result = apply(op, x, y);
    check(
        is_floating(x.dtype()) || !is_floating(result.dtype()), ErrorKind::kType,
        "{}: the result is {}, which an array of {} does not take in place; write x = x + y in the place of x += y, or "
        "cast the other array before",
        op.shown_name(), dtype_name(result.dtype()), dtype_name(x.dtype()));
    dispatch_detail::check_output(op, x, result.shape(), x.dtype());
    copy_into(x, result);
    return x;
  }
  NDArray target = x;
  invoke(op, op.default_attrs, BorrowedArrays(x, y), {&target, 1});
  return x = std::move(target);
}

NDArray& assign(const OpDef& op, NDArray& x, Scalar y) {
  NDArray target = x;
  invoke(op, scalar_attrs(y), {&x, 1}, {&target, 1});
  return x = std::move(target);
}

}  // namespace

NDArray operator-(const NDArray& x) { return call("_npi_negative", {x}); }

NDArray operator+(const NDArray& x, const NDArray& y) { return apply(add().arrays, x, y); }
NDArray operator-(const NDArray& x, const NDArray& y) { return apply(subtract().arrays, x, y); }
NDArray operator*(const NDArray& x, const NDArray& y) { return apply(multiply().arrays, x, y); }
NDArray operator/(const NDArray& x, const NDArray& y) { return apply(divide().arrays, x, y); }

NDArray operator+(const NDArray& x, Scalar y) { return apply(add().scalar, x, y); }
NDArray operator-(const NDArray& x, Scalar y) { return apply(subtract().scalar, x, y); }
NDArray operator*(const NDArray& x, Scalar y) { return apply(multiply().scalar, x, y); }
NDArray operator/(const NDArray& x, Scalar y) { return apply(divide().scalar, x, y); }

NDArray operator+(Scalar x, const NDArray& y) { return y + x; }
NDArray operator-(Scalar x, const NDArray& y) {
  static const OpDef& subtract_from = find_op("_npi_rsubtract_scalar");
  return apply(subtract_from, y, x);
}
NDArray operator*(Scalar x, const NDArray& y) { return y * x; }
NDArray operator/(Scalar x, const NDArray& y) {
  static const OpDef& divide_into = find_op("_npi_rtrue_divide_scalar");
  return apply(divide_into, y, x);
}

NDArray& operator+=(NDArray& x, const NDArray& y) { return assign(add().arrays, x, y); }
NDArray& operator-=(NDArray& x, const NDArray& y) { return assign(subtract().arrays, x, y); }
NDArray& operator*=(NDArray& x, const NDArray& y) { return assign(multiply().arrays, x, y); }
NDArray& operator/=(NDArray& x, const NDArray& y) { return assign(divide().arrays, x, y); }

NDArray& operator+=(NDArray& x, Scalar y) { return assign(add().scalar, x, y); }
NDArray& operator-=(NDArray& x, Scalar y) { return assign(subtract().scalar, x, y); }
NDArray& operator*=(NDArray& x, Scalar y) { return assign(multiply().scalar, x, y); }
NDArray& operator/=(NDArray& x, Scalar y) { return assign(divide().scalar, x, y); }

}  // namespace headrace
