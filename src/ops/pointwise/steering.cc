// Operators that are there for their gradients: nothing flows, another number flows, or what rounding would stop flows.

#include <cmath>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "op/result_dtype.h"
#include "op/rule.h"

namespace headrace {
namespace {

PointwiseSpec identity_spec(std::string name, std::vector<std::string> python, const char* doc) {
  return {.op = {.name = std::move(name), .python = std::move(python), .doc = doc, .samples = {uniform({2, 3})}},
          .formula = [](Expr x) { return x; }};
}

OpDef block_gradient() {
  auto spec = identity_spec("BlockGrad", {"nd.BlockGrad", "nd.stop_gradient", "npx.stop_gradient"},
                            "A copy of the array through which no gradient flows.");
  spec.op.aliases = {"stop_gradient"};
  spec.op.zero_gradient = true;
  return pointwise(std::move(spec));
}

OpDef make_loss() {
  OpDef op = pointwise(identity_spec("make_loss", {"nd.make_loss"},
                                     "A copy of the array whose gradient is 1, whatever the gradient of the result."));
  op.gradient = [](Gradient& g, const Attrs&) { g.set(0, ones_like(g.input(0))); };
  op.own_gradient = true;
  op.starts_gradient = true;
  op.array_names = {.outputs = {"loss"}};
  return op;
}

struct MakeLossAttrs {
  double grad_scale = 1, valid_thresh = 0;
  std::string normalization = "null";
  static constexpr auto kFields =
      fields(field(&MakeLossAttrs::grad_scale, "grad_scale", "The gradient."),
             field(&MakeLossAttrs::valid_thresh, "valid_thresh", "With 'valid': elements above it count."),
             field(&MakeLossAttrs::normalization, "normalization",
                   "What the gradient is divided by: nothing, the number of rows (of elements along all axes but the "
                   "last), or the number of valid elements.")
                 .one_of("batch|null|valid"));
};

NDArray loss_gradient(const NDArray& x, const MakeLossAttrs& a) {
  double scale = a.grad_scale;
  if (a.normalization == "batch" && x.size() > 0)
    scale /= static_cast<double>(x.size() / (x.ndim() == 0 ? 1 : x.shape().back()));
  NDArray gradient = full(x.shape(), scale, x.dtype(), x.device());
  if (a.normalization != "valid") return gradient;
  Shape axes;
  for (size_t i = 0; i < x.ndim(); ++i) axes.push_back(static_cast<int64_t>(i));
  NDArray valid = call("_sum_axes", {call("_greater_scalar", {x}, {{"scalar", a.valid_thresh}})}, {{"axis", axes}});
  return gradient / call("_maximum_scalar", {valid}, {{"scalar", 1.0}});
}

OpDef make_loss_layer() {
  using A = MakeLossAttrs;
  return general<A>(
      {.name = "MakeLoss",
       .python = {"nd.MakeLoss"},
       .doc = "A copy of the array whose gradient is grad_scale, divided as `normalization` says, whatever "
              "the gradient of the result.",
       .compose = [](std::span<const NDArray> in, const A&) -> std::vector<NDArray> {
         return {call("_copy", {in[0]})};
       },
       .gradient = [](Gradient& g, const A& a) { g.set(0, loss_gradient(g.input(0), a)); },
       .own_gradient = true,
       .starts_gradient = true,
       .samples = {uniform({2, 3}), Sample({uniform({2, 3})}, make_attrs(A{.grad_scale = 2, .normalization = "valid"})),
                   Sample({uniform({2, 3})}, make_attrs(A{.normalization = "batch"}))}});
}

OpDef gradient_multiplier() {
  return pointwise<ScalarAttrs>({.op = {.name = "_contrib_gradientmultiplier",
                                        .python = {"nd.contrib.gradientmultiplier"},
                                        .doc = "A copy of the array whose gradient is multiplied by `scalar`.",
                                        .own_gradient = true,
                                        .samples = {Sample({uniform({2, 3})}, make_attrs(ScalarAttrs{-0.5, false}))}},
                                 .formula = [](Expr x, Expr) { return x; },
                                 .gradient = [](Expr, Expr, Expr dy, Expr scalar) { return dy * scalar; }});
}

OpDef gradient_multiplier_gradient() {
  return pointwise<ScalarAttrs>({.op = {.name = "_contrib_backward_gradientmultiplier",
                                        .python = {"nd.contrib.backward_gradientmultiplier"},
                                        .doc = "The gradient of gradientmultiplier: the array times `scalar`.",
                                        .samples = {Sample({uniform({2, 3})}, make_attrs(ScalarAttrs{-0.5, false}))}},
                                 .formula = [](Expr x, Expr scalar) { return x * scalar; },
                                 .differentiable = false});
}

OpDef straight_through(std::string word, const char* doc, FormulaFn formula) {
  return pointwise({.op = {.name = "_contrib_" + word,
                           .python = {"nd.contrib." + word},
                           .doc = doc,
                           .own_gradient = true,
                           .samples = {uniform({2, 3}), values({-1.5, -0.5, 0, 0.5, 2.5})}},
                    .formula = std::move(formula),
                    .gradient = [](Expr, Expr, Expr dy) { return dy; },
                    .dtypes = dtype_rules::numeric});
}

struct QuadraticAttrs {
  double a = 0, b = 0, c = 0;
  static constexpr auto kFields =
      fields(field(&QuadraticAttrs::a, "a", "Factor of x^2."), field(&QuadraticAttrs::b, "b", "Factor of x."),
             field(&QuadraticAttrs::c, "c", "Constant."));
};

OpDef quadratic() {
  return pointwise<QuadraticAttrs>({.op = {.name = "_contrib_quadratic",
                                           .python = {"nd.contrib.quadratic"},
                                           .doc = "a * x^2 + b * x + c, element by element.",
                                           .samples = {Sample({uniform({2, 3})}, make_attrs(QuadraticAttrs{1, 2, 3}))}},
                                    .formula = [](Expr x, Expr a, Expr b, Expr c) { return a * x * x + b * x + c; },
                                    .dtypes = dtype_rules::numeric_by_doubles});
}

OpDef divided_by_root() {
  return general<NoAttrs>({.name = "_contrib_div_sqrt_dim",
                           .python = {"nd.contrib.div_sqrt_dim"},
                           .doc = "x / sqrt(d), d being the last extent: attention scores of unit variance.",
                           .complete = keep_shape,
                           .result_dtype = result_dtypes::counting,
                           .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
                             check(in[0].ndim() > 0, ErrorKind::kValue, "div_sqrt_dim: the array needs an axis");
                             double root = std::sqrt(static_cast<double>(in[0].shape().back()));
                             return {call("_div_scalar", {in[0]}, {{"scalar", root}})};
                           },
                           .samples = {uniform({2, 3})}});
}

}  // namespace

Operators steering_operators() {
  Operators operators;
  operators.push_back(block_gradient());
  operators.push_back(make_loss());
  operators.push_back(make_loss_layer());
  operators.push_back(gradient_multiplier());
  operators.push_back(gradient_multiplier_gradient());
  operators.push_back(
      straight_through("round_ste", "Rounding whose gradient is that of x.", [](Expr x) { return round(x); }));
  operators.push_back(
      straight_through("sign_ste", "Sign whose gradient is that of x.", [](Expr x) { return sign(x); }));
  operators.push_back(quadratic());
  operators.push_back(divided_by_root());
  return operators;
}

}  // namespace headrace
