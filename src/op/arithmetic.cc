#include "headrace/arithmetic.hpp"

#include "op/borrowed_arrays.h"
#include "op/invoke.h"

namespace headrace {
namespace {

NDArray apply(const OpDef& op, const NDArray& x, const NDArray& y) {
  NDArray result;
  invoke(op, op.default_attrs, BorrowedArrays(x, y), {&result, 1});
  return result;
}

NDArray apply(const OpDef& op, const NDArray& x, Scalar y) {
  NDArray result;
  invoke(op, make_attrs(ScalarAttrs{y.value, y.is_integer}), {&x, 1}, {&result, 1});
  return result;
}

}  // namespace

NDArray operator-(const NDArray& x) { return call("_npi_negative", {x}); }

NDArray operator+(const NDArray& x, const NDArray& y) {
  static const OpDef& add = find_op("_npi_add");
  return apply(add, x, y);
}
NDArray operator-(const NDArray& x, const NDArray& y) {
  static const OpDef& subtract = find_op("_npi_subtract");
  return apply(subtract, x, y);
}
NDArray operator*(const NDArray& x, const NDArray& y) {
  static const OpDef& multiply = find_op("_npi_multiply");
  return apply(multiply, x, y);
}
NDArray operator/(const NDArray& x, const NDArray& y) {
  static const OpDef& divide = find_op("_npi_true_divide");
  return apply(divide, x, y);
}

NDArray operator+(const NDArray& x, Scalar y) {
  static const OpDef& add = find_op("_npi_add_scalar");
  return apply(add, x, y);
}
NDArray operator-(const NDArray& x, Scalar y) {
  static const OpDef& subtract = find_op("_npi_subtract_scalar");
  return apply(subtract, x, y);
}
NDArray operator*(const NDArray& x, Scalar y) {
  static const OpDef& multiply = find_op("_npi_multiply_scalar");
  return apply(multiply, x, y);
}
NDArray operator/(const NDArray& x, Scalar y) {
  static const OpDef& divide = find_op("_npi_true_divide_scalar");
  return apply(divide, x, y);
}

NDArray operator+(Scalar x, const NDArray& y) { return y + x; }
NDArray operator-(Scalar x, const NDArray& y) {
  static const OpDef& subtract = find_op("_npi_rsubtract_scalar");
  return apply(subtract, y, x);
}
NDArray operator*(Scalar x, const NDArray& y) { return y * x; }
NDArray operator/(Scalar x, const NDArray& y) {
  static const OpDef& divide = find_op("_npi_rtrue_divide_scalar");
  return apply(divide, y, x);
}

}  // namespace headrace
