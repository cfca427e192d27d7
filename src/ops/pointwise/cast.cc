// Copies and casts.

#include "base/check.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "op/result_dtype.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct CastAttrs {
  DType dtype = DType::kFloat32;
  static constexpr auto kFields = fields(field(&CastAttrs::dtype, "dtype", "What the result holds.").required());
};

// Computes where both the values read and the values written fit.
PointwiseTypes cast_types(const char*, std::span<const DType> inputs, const Attrs& attrs) {
  DType from = inputs[0], to = attrs.as<CastAttrs>().dtype;
  if (is_floating(to) == is_floating(from)) return {compute_type_of(item_size(from) > item_size(to) ? from : to), to};
  return {compute_type_of(is_floating(from) ? from : to), to};
}

// Of mixed precision, which changes what halves and float32 hold, and leaves indices, masks and float64 alone.
PointwiseTypes amp_cast_types(const char* name, std::span<const DType> inputs, const Attrs& attrs) {
  const DType from = inputs[0];
  if (is_floating(from) && from != DType::kFloat64) return cast_types(name, inputs, attrs);
  return {compute_type_of(from), from};
}

OpDef cast(std::string name, std::vector<std::string> aliases, std::vector<std::string> python, std::string doc,
           DTypeRule types) {
  OpDef op =
      pointwise<CastAttrs>({.op = {.name = std::move(name),
                                   .aliases = std::move(aliases),
                                   .python = std::move(python),
                                   .doc = std::move(doc),
                                   .samples = {Sample({uniform({2, 3})}, make_attrs(CastAttrs{DType::kFloat64}))}},
                            .formula = [](Expr x) { return x; },
                            .dtypes = types});
  op.gradient = [](Gradient& g, const Attrs&) { g.set(0, cast_to(g.head(), g.input(0).dtype())); };
  return op;
}

OpDef copy_operator(std::string name, std::vector<std::string> aliases, std::vector<std::string> python) {
  return pointwise({.op = {.name = std::move(name),
                           .aliases = std::move(aliases),
                           .python = std::move(python),
                           .doc = "A copy of the array.",
                           .np_inputs = {"a"},
                           .samples = {uniform({2, 3}), uniform({0, 3})}},
                    .formula = [](Expr x) { return x; }});
}

OpDef gradient_sum() {
  return pointwise({.op = {.name = "_grad_add",
                           .doc = "Sum of two gradients of one shape and dtype.",
                           .inputs = {"lhs", "rhs"},
                           .samples = {Sample({uniform({2, 3}), uniform({2, 3})})}},
                    .formula = [](Expr a, Expr b) { return a + b; },
                    .equal_shapes = true});
}

struct MulticastAttrs {
  int64_t num_outputs = 1;
  bool cast_narrow = false;
  static constexpr auto kFields = fields(
      field(&MulticastAttrs::num_outputs, "num_outputs", "How many arrays there are.").counts_inputs().required(),
      field(&MulticastAttrs::cast_narrow, "cast_narrow", "To the narrowest dtype instead of the widest."));
};

// What array `i` of several becomes: floats the widest or narrowest of them, others what they are.
DType common_dtype(std::span<const DType> inputs, const MulticastAttrs& a, size_t i) {
  DType dtype = inputs[i];
  if (!is_floating(dtype)) return dtype;
  for (DType one : inputs)
    if (is_floating(one) && (item_size(one) < item_size(dtype)) == a.cast_narrow) dtype = one;
  return dtype;
}

OpDef multicast() {
  using A = MulticastAttrs;
  return general<A>(
      {.name = "amp_multicast",
       .python = {"nd.amp_multicast"},
       .doc = "All floating arrays cast to the widest dtype among them, others as they are. Raises ValueError unless "
              "there are num_outputs arrays.",
       .variadic = true,
       .output_count = [](const A& a) { return static_cast<size_t>(a.num_outputs); },
       .array_names = {.inputs = "data_"},
       .result_dtype = [](std::span<const DType> inputs, const A& a, size_t i) { return common_dtype(inputs, a, i); },
       .compose =
           [](std::span<const NDArray> in, const A& a) {
             check(!in.empty() && static_cast<int64_t>(in.size()) == a.num_outputs, ErrorKind::kValue,
                   "amp_multicast: num_outputs is {}, but there are {} arrays; give one or more", a.num_outputs,
                   in.size());
             std::vector<DType> dtypes;
             for (const NDArray& one : in) dtypes.push_back(one.dtype());
             std::vector<NDArray> results;
             for (size_t i = 0; i < in.size(); ++i) results.push_back(cast_to(in[i], common_dtype(dtypes, a, i)));
             return results;
           },
       .samples = {Sample({uniform({2, 3}), uniform({2}, -2, 2, DType::kFloat64)}, make_attrs(A{2}))}});
}

OpDef copy_like_rhs() {
  return general<>(
      {.name = "_identity_with_attr_like_rhs",
       .python = {"nd._internal._identity_with_attr_like_rhs"},
       .doc = "A copy of lhs, which must have the shape and dtype of rhs; graphs infer each from the other. Raises "
              "MXNetError where they differ.",
       .inputs = {"lhs", "rhs"},
       .complete = [](Completion& c, const NoAttrs&) { c.set_all_equal(); },
       .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
         check(in[0].shape() == in[1].shape() && in[0].dtype() == in[1].dtype(), ErrorKind::kRuntime,
               "_identity_with_attr_like_rhs: lhs is {} {}, but rhs {} {}; they must be alike",
               dtype_name(in[0].dtype()), to_string(in[0].shape()), dtype_name(in[1].dtype()),
               to_string(in[1].shape()));
         return {call("_copy", {in[0]})};
       },
       .samples = {std::vector{uniform({2, 3}), uniform({2, 3})}}});
}

}  // namespace

Operators cast_operators() {
  Operators operators;
  operators.push_back(cast("Cast", {"cast", "_npx_cast", "_npi_cast"}, {"nd.Cast", "nd.cast", "npx.cast"},
                           "The elements as another dtype. Floats are truncated to integers; bool is whether an "
                           "element is not zero. The gradient is cast back.",
                           cast_types));
  operators.push_back(cast("amp_cast", {}, {"nd.amp_cast"},
                           "Elements of float16, bfloat16 and float32 as another dtype, others as they are. The "
                           "gradient is cast back.",
                           amp_cast_types));
  operators.push_back(
      copy_operator("_copy", {"identity", "_copyto", "_npi_copyto"}, {"nd.identity", "nd._internal._copy"}));
  operators.push_back(copy_operator("_np_copy", {}, {"np.copy"}));
  operators.push_back(copy_operator("_npi_positive", {}, {"np.positive"}));
  operators.push_back(copy_like_rhs());
  operators.push_back(gradient_sum());
  operators.push_back(multicast());
  return operators;
}

}  // namespace headrace
