#include "headrace/comparison.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "headrace/error.hpp"
#include "op/borrowed_arrays.h"
#include "op/invoke.h"

namespace headrace {
namespace {

// One relation between arrays, and between an array and a number, in this order.
struct Relation {
  explicit Relation(const std::string& name) : arrays(find_op(name)), scalar(find_op(name + "_scalar")) {}

  Comparison operator()(const NDArray& x, const NDArray& y) const {
    NDArray result;
    invoke(arrays, arrays.default_attrs, BorrowedArrays(x, y), {&result, 1});
    return Comparison(std::move(result));
  }
  Comparison operator()(const NDArray& x, Scalar y) const {
    // The operators would cut the number to the dtype of integers: 1 < 1.5 would not hold.
    const bool is_cut = x && !y.is_integer && !is_floating(x.dtype());
    const NDArray operand = is_cut ? cast_to(x, DType::kFloat64) : x;
    NDArray result;
    invoke(scalar, make_attrs(ScalarAttrs{y.value, y.is_integer}), {&operand, 1}, {&result, 1});
    return Comparison(std::move(result));
  }

  const OpDef& arrays;
  const OpDef& scalar;
};

const Relation& equal() {
  static const Relation relation("_npi_equal");
  return relation;
}
const Relation& not_equal() {
  static const Relation relation("_npi_not_equal");
  return relation;
}
const Relation& less() {
  static const Relation relation("_npi_less");
  return relation;
}
const Relation& less_equal() {
  static const Relation relation("_npi_less_equal");
  return relation;
}
const Relation& greater() {
  static const Relation relation("_npi_greater");
  return relation;
}
const Relation& greater_equal() {
  static const Relation relation("_npi_greater_equal");
  return relation;
}

bool have_one_shape(const NDArray& x, const NDArray& y, const char* operation) {
  if (!x || !y) throw Error(ErrorKind::kType, std::string(operation) + ": expected two arrays, got none");
  return x.shape() == y.shape();
}

}  // namespace

Comparison operator==(const NDArray& x, const NDArray& y) { return equal()(x, y); }
Comparison operator!=(const NDArray& x, const NDArray& y) { return not_equal()(x, y); }
Comparison operator<(const NDArray& x, const NDArray& y) { return less()(x, y); }
Comparison operator<=(const NDArray& x, const NDArray& y) { return less_equal()(x, y); }
Comparison operator>(const NDArray& x, const NDArray& y) { return greater()(x, y); }
Comparison operator>=(const NDArray& x, const NDArray& y) { return greater_equal()(x, y); }

Comparison operator==(const NDArray& x, Scalar y) { return equal()(x, y); }
Comparison operator!=(const NDArray& x, Scalar y) { return not_equal()(x, y); }
Comparison operator<(const NDArray& x, Scalar y) { return less()(x, y); }
Comparison operator<=(const NDArray& x, Scalar y) { return less_equal()(x, y); }
Comparison operator>(const NDArray& x, Scalar y) { return greater()(x, y); }
Comparison operator>=(const NDArray& x, Scalar y) { return greater_equal()(x, y); }

Comparison operator==(Scalar x, const NDArray& y) { return y == x; }
Comparison operator!=(Scalar x, const NDArray& y) { return y != x; }
Comparison operator<(Scalar x, const NDArray& y) { return y > x; }
Comparison operator<=(Scalar x, const NDArray& y) { return y >= x; }
Comparison operator>(Scalar x, const NDArray& y) { return y < x; }
Comparison operator>=(Scalar x, const NDArray& y) { return y <= x; }

bool array_equal(const NDArray& x, const NDArray& y) {
  if (!have_one_shape(x, y, "array_equal")) return false;
  return x.size() == 0 || call("_np_all", {x == y}).item() != 0;
}

bool allclose(const NDArray& x, const NDArray& y, double rtol, double atol) {
  if (!have_one_shape(x, y, "allclose")) return false;
  const std::vector<double> a = cast_to(x, DType::kFloat64).to_vector<double>();
  const std::vector<double> b = cast_to(y, DType::kFloat64).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_close = std::isfinite(b[i]) ? std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i]) : a[i] == b[i];
    if (!is_close) return false;
  }
  return true;
}

}  // namespace headrace
