#include "op/promote.h"

#include "base/check.h"
#include "op/formula/transfer.h"

namespace headrace {

namespace {

DType promote_floats(DType a, DType b) {
  if (a == DType::kFloat64 || b == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;  // float32 with anything narrower, or float16 with bfloat16
}

// The signed type that holds every value of both, as NumPy has it; int64 for uint64 too, which NumPy makes float64.
DType promote_integers(DType a, DType b, const char* operation) {
  check(!((a == DType::kInt8 && b == DType::kUint8) || (a == DType::kUint8 && b == DType::kInt8)), ErrorKind::kType,
        "{}: int8 and uint8 have no common dtype here; convert one of them with astype", operation);
  size_t width = std::max(item_size(a), item_size(b));
  if (is_signed(a) == is_signed(b)) return item_size(a) >= item_size(b) ? a : b;
  DType signed_one = is_signed(a) ? a : b, unsigned_one = is_signed(a) ? b : a;
  if (item_size(signed_one) > item_size(unsigned_one)) return signed_one;
  return width >= 4 ? DType::kInt64 : DType::kInt32;
}

PointwiseTypes plain(DType dtype) { return {compute_type_of(dtype), dtype}; }

DType common(const char* operation, std::span<const DType> inputs) {
  DType result = inputs[0];
  for (DType dtype : inputs.subspan(1)) result = promote(result, dtype, operation);
  return result;
}

void check_alike(const char* operation, std::span<const DType> inputs) {
  for (DType dtype : inputs)
    check(dtype == inputs[0], ErrorKind::kRuntime,
          "{}: the arrays hold {} and {}; arrays of one dtype are needed, so convert one with astype", operation,
          dtype_name(inputs[0]), dtype_name(dtype));
}

void check_numbers(const char* operation, DType dtype) {
  check(dtype != DType::kBool, ErrorKind::kType,
        "{}: not defined for arrays of bool; convert them to numbers with astype", operation);
}

}  // namespace

DType promote(DType a, DType b, const char* operation) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  return promote_integers(a, b, operation);
}

namespace dtype_rules {

PointwiseTypes same(const char* operation, std::span<const DType> inputs, const Attrs&) {
  check_alike(operation, inputs);
  return plain(inputs[0]);
}

PointwiseTypes numeric(const char* operation, std::span<const DType> inputs, const Attrs& attrs) {
  PointwiseTypes types = same(operation, inputs, attrs);
  check_numbers(operation, types.result);
  return types;
}

PointwiseTypes numeric_by_doubles(const char* operation, std::span<const DType> inputs, const Attrs& attrs) {
  PointwiseTypes types = numeric(operation, inputs, attrs);
  if (!is_floating(types.result)) types.compute = ComputeType::kFloat64;
  return types;
}

PointwiseTypes promoted(const char* operation, std::span<const DType> inputs, const Attrs&) {
  return plain(common(operation, inputs));
}

PointwiseTypes promoted_numeric(const char* operation, std::span<const DType> inputs, const Attrs& attrs) {
  PointwiseTypes types = promoted(operation, inputs, attrs);
  check_numbers(operation, types.result);
  return types;
}

PointwiseTypes promoted_integers(const char* operation, std::span<const DType> inputs, const Attrs& attrs) {
  PointwiseTypes types = promoted(operation, inputs, attrs);
  check(!is_floating(types.result), ErrorKind::kType,
        "{}: arrays of integers or bool are needed, got {}; convert with astype", operation, dtype_name(types.result));
  return types;
}

PointwiseTypes promoted_to_float(const char* operation, std::span<const DType> inputs, const Attrs&) {
  DType dtype = common(operation, inputs);
  return plain(is_floating(dtype) ? dtype : DType::kFloat32);
}

// No integer type holds the values of uint64 and of a signed one.
PointwiseTypes predicate(const char* operation, std::span<const DType> inputs, const Attrs&) {
  const DType dtype = common(operation, inputs);
  const bool mixes = !is_floating(dtype) && is_signed(dtype) && std::ranges::count(inputs, DType::kUint64) > 0;
  return {mixes ? ComputeType::kFloat64 : compute_type_of(dtype), DType::kBool};
}

PointwiseTypes with_scalar(const char*, std::span<const DType> inputs, const Attrs& attrs) {
  if (!is_floating(inputs[0]) && !attrs.as<ScalarAttrs>().is_int) return plain(DType::kFloat64);
  return plain(inputs[0] == DType::kBool ? DType::kInt64 : inputs[0]);
}

PointwiseTypes with_scalar_to_float(const char*, std::span<const DType> inputs, const Attrs&) {
  return plain(is_floating(inputs[0]) ? inputs[0] : DType::kFloat32);
}

namespace {
// The condition must survive the conversion to the compute type: a fraction would become 0 as an integer.
PointwiseTypes choice(DType condition, DType result) {
  ComputeType compute = compute_type_of(result);
  if (is_floating(condition) && !is_floating(result)) compute = ComputeType::kFloat64;
  if (compute == ComputeType::kInt32 && compute_type_of(condition) == ComputeType::kInt64)
    compute = ComputeType::kInt64;
  return {compute, result};
}
}  // namespace

PointwiseTypes choice_same(const char* operation, std::span<const DType> inputs, const Attrs&) {
  check_alike(operation, inputs.subspan(1));
  return choice(inputs[0], inputs[1]);
}

PointwiseTypes choice_promoted(const char* operation, std::span<const DType> inputs, const Attrs&) {
  return choice(inputs[0], common(operation, inputs.subspan(1)));
}

PointwiseTypes like_first(const char* operation, std::span<const DType> inputs, const Attrs&) {
  return {compute_type_of(common(operation, inputs)), inputs[0]};
}

}  // namespace dtype_rules
}  // namespace headrace
