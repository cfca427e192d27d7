// Reductions to one truth value: whether arrays are close to each other, whether a condition holds everywhere.
#include "ops/reduce/checks.h"

#include <algorithm>

#include "base/check.h"
#include "op/formula/transfer.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/reduce/closeness.h"

namespace headrace {
namespace {

void close_on_host(KernelContext& c, const CloseAttrs& t) {
  constexpr int64_t kTile = 256;
  const Tensor &a = c.input(0), &b = c.input(1);
  const Load load = load_function(a.dtype, ComputeType::kFloat64);
  double x[kTile], y[kTile];
  bool close = true;
  for (int64_t at = 0; at < a.size && close; at += kTile) {
    const int64_t n = std::min(kTile, a.size - at);
    const size_t offset = static_cast<size_t>(at) * item_size(a.dtype);
    load(x, a.as<char>() + offset, 1, n);
    load(y, b.as<char>() + offset, 1, n);
    for (int64_t k = 0; k < n; ++k) close = close && is_close(x[k], y[k], t.rtol, t.atol, t.equal_nan);
  }
  *c.output(0).as<uint8_t>() = close ? 1 : 0;
}

struct ConstraintAttrs {
  std::string msg = "Constraint violated.";
  static constexpr auto kFields = fields(field(&ConstraintAttrs::msg, "msg", "What the error says."));
};

void check_on_host(KernelContext& c, const std::string& message) {
  const auto* x = c.input(0).as<uint8_t>();
  check_constraint(std::all_of(x, x + c.input(0).size, [](uint8_t one) { return one != 0; }), message);
  *c.output(0).as<uint8_t>() = 1;
}

}  // namespace

void check_constraint(bool holds, const std::string& message) {
  check(holds, ErrorKind::kValue, "constraint_check: {}", message);
}

const decltype(are_all_close) are_all_close{"are_all_close", close_on_host};
const decltype(check_all_true) check_all_true{"check_all_true", check_on_host};

Operators check_operators() {
  Operators operators;
  operators.push_back(general<CloseAttrs>(
      {.name = "_contrib_allclose",
       .python = {"nd.contrib.allclose"},
       .doc = "1 where |a - b| <= atol + rtol * |b| for all elements, else 0: a uint8 of shape (). Raises MXNetError "
              "unless a and b have one shape and dtype.",
       .inputs = {"a", "b"},
       .result_dtype = result_dtypes::always(DType::kUint8),
       .infer =
           [](Infer& i, const CloseAttrs&) {
             i.require(i.shape(0) == i.shape(1) && i.dtype(0) == i.dtype(1), ErrorKind::kRuntime,
                       "arrays of one shape and dtype are needed, got {} of {} and {} of {}", dtype_name(i.dtype(0)),
                       to_string(i.shape(0)), dtype_name(i.dtype(1)), to_string(i.shape(1)));
             i.output({}, DType::kUint8);
           },
       .kernel = [](KernelContext& c, const CloseAttrs& a) { are_all_close(c, a); },
       .samples = {Sample({values({1, kNan, kInf}), values({1, kNan, kInf})}),
                   Sample({uniform({2, 3}), uniform({2, 3})})}}));
  operators.push_back(general<ConstraintAttrs>(
      {.name = "_npx_constraint_check",
       .python = {"npx.constraint_check"},
       .doc =
           "True, where all elements of a bool array are; what it is multiplied with is checked so. Raises "
           "ValueError with the text `msg` otherwise, when the result is waited for, and TypeError for other dtypes.",
       .inputs = {"x"},
       .np_inputs = {"input"},
       .infer =
           [](Infer& i, const ConstraintAttrs&) {
             i.require(i.dtype(0) == DType::kBool, ErrorKind::kType, "a bool array is needed, got {}",
                       dtype_name(i.dtype(0)));
             i.output({}, DType::kBool);
           },
       .kernel = [](KernelContext& c, const ConstraintAttrs& a) { check_all_true(c, a.msg); },
       .zero_gradient = true,
       .samples = {values({1, 1}, DType::kBool)}}));
  return operators;
}

}  // namespace headrace
