// Dtype rules of pointwise operators: which dtype a call computes in and gives, from the dtypes of its arrays.
#pragma once

#include <span>

#include "headrace/dtype.hpp"
#include "op/attrs.h"
#include "op/formula/opcode.h"

namespace headrace {

struct PointwiseTypes {
  ComputeType compute;
  DType result;
};

// Raises TypeError naming the operation when the dtypes do not go together.
using DTypeRule = PointwiseTypes (*)(const char* operation, std::span<const DType> inputs, const Attrs& attrs);

// np's rule for two arrays: the wider float; a float before any integer; else the wider integer.
DType promote(DType a, DType b, const char* operation);

namespace dtype_rules {
// nd: all inputs alike, the result like them.
PointwiseTypes same(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// The same, but bool is refused: mathematics on numbers.
PointwiseTypes numeric(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// The same, integers computed with as doubles: what has fractions on the way, rounded to zero at its end.
PointwiseTypes numeric_by_doubles(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np: inputs are promoted, the result is what they are promoted to.
PointwiseTypes promoted(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np: promoted, integers and bool to float32.
PointwiseTypes promoted_to_float(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np subtraction and the like: promoted, but two arrays of bool are refused.
PointwiseTypes promoted_numeric(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np bit operations: promoted; floats are refused.
PointwiseTypes promoted_integers(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np comparisons and logic: promoted while computing, the result bool.
PointwiseTypes predicate(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// An array with a scalar (ScalarAttrs): the array's dtype; bool becomes int64. Where the call says that the scalar is
// no integer, arrays of integers and bool become float64.
PointwiseTypes with_scalar(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// np division by a scalar: floats keep their dtype, all else gives float32.
PointwiseTypes with_scalar_to_float(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// where: the first input is a condition of any dtype, the others are alike (nd) or promoted (np).
PointwiseTypes choice_same(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
PointwiseTypes choice_promoted(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
// The result has the dtype of the first input; the others may differ (optimizer states).
PointwiseTypes like_first(const char* operation, std::span<const DType> inputs, const Attrs& attrs);
}  // namespace dtype_rules

}  // namespace headrace
