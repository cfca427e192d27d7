// Activation functions of neural networks, and losses' element parts.

#include "base/check.h"
#include "op/invoke.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "ops/pointwise/unary_rows.h"

namespace headrace {
namespace {

std::vector<UnaryRow> activation_rows() {
  return {
      {.name = "relu",
       .doc = "max(x, 0), element by element. Its gradient at 0 is 0, and NaN where x is.",
       .formula = [](Expr x) { return max(x, 0); },
       .gradient = [](Expr, Expr y, Expr dy) { return select(y > 0, dy, 0 * y); },
       .np_python = {"npx.relu"},
       .np_name = "_npx_relu"},
      {.name = "sigmoid",
       .doc = "1 / (1 + exp(-x)), element by element.",
       .formula = [](Expr x) { return 1 / (1 + exp(-x)); },
       .gradient = [](Expr, Expr y, Expr dy) { return dy * y * (1 - y); },
       .np_python = {"npx.sigmoid"},
       .np_name = "_npx_sigmoid",
       .dtypes = dtype_rules::numeric_by_doubles,
       .np_dtypes = dtype_rules::numeric_by_doubles},
      {.name = "softsign",
       .doc = "x / (1 + |x|), element by element.",
       .formula = [](Expr x) { return x / (1 + abs(x)); },
       .gradient = [](Expr x, Expr, Expr dy) { return dy / square(1 + abs(x)); },
       .has_method = false},
  };
}

OpDef softrelu() {
  return pointwise({.op = {.name = "_softrelu",
                           .doc = "log(1 + exp(x)), element by element, without overflow.",
                           .samples = {uniform({2, 3}), values({-100, 0, 100})}},
                    .formula = [](Expr x) { return max(x, 0) + log1p(exp(-abs(x))); },
                    .gradient = [](Expr, Expr y, Expr dy) { return -dy * expm1(-y); }});
}

struct ActivationAttrs {
  std::string act_type = "relu";
  static constexpr auto kFields = fields(field(&ActivationAttrs::act_type, "act_type", "Which function.")
                                             .required()
                                             .one_of("relu|sigmoid|softrelu|softsign|tanh"));
};

OpDef activation() {
  using A = ActivationAttrs;
  return general<A>({.name = "Activation",
                     .aliases = {"_npx_activation"},
                     .python = {"nd.Activation", "npx.activation"},
                     .doc = "An activation function by name: relu max(x, 0), sigmoid 1 / (1 + exp(-x)), tanh, softrelu "
                            "log(1 + exp(x)), softsign x / (1 + |x|). Raises ValueError for other names.",
                     .complete = [](Completion& c, const A&) { c.set_all_equal(); },
                     .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
                       return {call(a.act_type == "softrelu" ? "_softrelu" : a.act_type, {in[0]})};
                     },
                     .quantization = quantization({.becomes = "_contrib_quantized_act",
                                                   .where = [](const A& a) { return a.act_type == "relu"; }}),
                     .samples = {Sample({uniform({2, 3})}, make_attrs(A{"relu"})),
                                 Sample({uniform({2, 3})}, make_attrs(A{"softrelu"})),
                                 Sample({uniform({2, 3})}, make_attrs(A{"softsign"}))}});
}

// --- rectifiers with a slope -----------------------------------------------------------------------------------------

struct SlopeAttrs {
  double slope = 0.25;
  static constexpr auto kFields = fields(field(&SlopeAttrs::slope, "slope", "Factor for negative elements."));
};

Operators rectifiers() {
  Operators operators;
  operators.push_back(pointwise<SlopeAttrs>(
      {.op = {.name = "_leaky_relu",
              .doc = "x where it is positive, slope * x elsewhere.",
              .samples = {uniform({2, 3})}},
       .formula = [](Expr x, Expr slope) { return select(x > 0, x, slope * x); },
       .gradient = [](Expr x, Expr, Expr dy, Expr slope) { return select(x > 0, dy, slope * dy); }}));
  operators.push_back(pointwise({.op = {.name = "_prelu",
                                        .doc = "x where it is positive, gamma * x elsewhere.",
                                        .inputs = {"data", "gamma"},
                                        .samples = {Sample({uniform({2, 3}), uniform({3})})}},
                                 .formula = [](Expr x, Expr gamma) { return select(x > 0, x, gamma * x); }}));
  operators.push_back(pointwise<SlopeAttrs>(
      {.op = {.name = "_elu",
              .doc = "x where it is positive, slope * (exp(x) - 1) elsewhere.",
              .samples = {uniform({2, 3})}},
       .formula = [](Expr x, Expr slope) { return select(x > 0, x, slope * expm1(x)); },
       .gradient = [](Expr x, Expr y, Expr dy, Expr slope) { return select(x > 0, dy, dy * (y + slope)); }}));
  static constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  // MXNet's gradient for negative elements is kScale * (kAlpha + y), y being scaled already; programs were trained with
  // it.
  operators.push_back(
      pointwise({.op = {.name = "_selu",
                        .doc = "Self-normalising exponential unit.",
                        .samples = {uniform({2, 3}, 0.1, 2), values({-2, -1, 1})}},
                 .formula = [](Expr x) { return kScale * select(x > 0, x, kAlpha * expm1(x)); },
                 .gradient = [](Expr x, Expr y, Expr dy) { return dy * kScale * select(x > 0, 1, y + kAlpha); }}));
  static constexpr double kHalfRoot = 0.70710678118654752440;
  operators.push_back(pointwise(
      {.op = {.name = "_gelu", .doc = "x * P(X <= x) with X normally distributed.", .samples = {uniform({2, 3})}},
       .formula = [](Expr x) { return 0.5 * x * (1 + erf(x * kHalfRoot)); }}));
  return operators;
}

struct LeakyReluAttrs {
  std::string act_type = "leaky";
  double slope = 0.25, lower_bound = 0.125, upper_bound = 0.334;
  static constexpr auto kFields =
      fields(field(&LeakyReluAttrs::act_type, "act_type", "Which function.").one_of("elu|gelu|leaky|prelu|rrelu|selu"),
             field(&LeakyReluAttrs::slope, "slope", "Of leaky and elu: factor for negative elements."),
             field(&LeakyReluAttrs::lower_bound, "lower_bound", "Of rrelu: least slope."),
             field(&LeakyReluAttrs::upper_bound, "upper_bound", "Of rrelu: largest slope."));
};

// gamma with one number per channel, shaped so that it meets axis 1 of the data, or per sample and channel, so that it
// meets the first two axes.
NDArray channel_column(const NDArray& data, const NDArray& gamma) {
  if (gamma.ndim() == 2 && data.ndim() > 2) {
    Shape shape(data.ndim(), 1);
    std::ranges::copy(gamma.shape(), shape.begin());
    return call("_reshape_to", {gamma}, {{"shape", shape}});
  }
  if (gamma.ndim() != 1 || data.ndim() < 2 || gamma.size() == 1) return gamma;
  check(gamma.size() == data.shape()[1], ErrorKind::kValue,
        "LeakyReLU: gamma has {} numbers, but axis 1 of the data has extent {}", gamma.size(), data.shape()[1]);
  Shape shape(data.ndim() - 1, 1);
  shape[0] = gamma.size();
  return call("_reshape_to", {gamma}, {{"shape", shape}});
}

NDArray random_slopes(const NDArray& data, const LeakyReluAttrs& a) {
  return call("_random_uniform", {},
              {{"low", a.lower_bound},
               {"high", a.upper_bound},
               {"shape", data.shape()},
               {"ctx", to_string(data.device())},
               {"dtype", std::string(dtype_name(data.dtype()))}});
}

OpDef leaky_relu() {
  using A = LeakyReluAttrs;
  return general<A>(
      {.name = "LeakyReLU",
       .aliases = {"_npx_leaky_relu"},
       .python = {"nd.LeakyReLU", "npx.leaky_relu"},
       .doc =
           "Rectifiers that do not cut off: x where it is positive; elsewhere slope * x (leaky), gamma * x with one "
           "learned gamma per channel (prelu), slope * (exp(x) - 1) (elu), the self-normalising form of that (selu), "
           "a slope drawn from [lower_bound, upper_bound) while training and their mean otherwise (rrelu). gelu is "
           "x * P(X <= x) with X normally distributed.",
       .inputs = {"data", "gamma"},
       .optional_inputs = 1,
       .counted_outputs = [](const A& a) -> size_t { return a.act_type == "rrelu" ? 2 : 1; },
       .array_names = {.initial_values = {"", R"(["Constant", {"value": 0.25}])"}},
       .input_count = [](const A& a) -> size_t { return a.act_type == "prelu" ? 2 : 1; },
       .complete =
           [](Completion& c, const A& a) {
             c.set_equal(0);
             const bool has_other_rank = c.has_rank(1) && c.shape(1).size() != 1;
             if (a.act_type != "prelu" || !c.has_rank(0) || c.is_known(1) || has_other_rank) return;
             const Shape& data = c.shape(0);
             c.set(1, data.empty() ? Shape{1} : Shape{data[data.size() > 1 ? 1 : 0]});
           },
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         const NDArray& x = in[0];
         if (a.act_type == "leaky") return {call("_leaky_relu", {x}, {{"slope", a.slope}})};
         if (a.act_type == "elu") return {call("_elu", {x}, {{"slope", a.slope}})};
         if (a.act_type == "selu") return {call("_selu", {x})};
         if (a.act_type == "gelu") return {call("_gelu", {x})};
         if (a.act_type == "rrelu") {
           if (thread_state().training) return {call("_prelu", {x, random_slopes(x, a)})};
           return {call("_leaky_relu", {x}, {{"slope", (a.lower_bound + a.upper_bound) / 2}})};
         }
         check(in.size() == 2, ErrorKind::kType, "LeakyReLU: prelu needs the array gamma");
         return {call("_prelu", {x, channel_column(x, in[1])})};
       },
       .samples = {Sample({uniform({2, 3})}), Sample({uniform({2, 3})}, make_attrs(A{.act_type = "elu"})),
                   Sample({values({-2, -1, 1})}, make_attrs(A{.act_type = "selu"})),
                   Sample({uniform({2, 3})}, make_attrs(A{.act_type = "gelu"})),
                   Sample({uniform({2, 3, 2}), uniform({3}, 0, 1)}, make_attrs(A{.act_type = "prelu"})),
                   Sample({uniform({2, 3, 2, 2}), uniform({2, 3}, 0, 1)}, make_attrs(A{.act_type = "prelu"}))}});
}

// --- with numbers ----------------------------------------------------------------------------------------------------

struct HardSigmoidAttrs {
  double alpha = 0.2, beta = 0.5;
  static constexpr auto kFields =
      fields(field(&HardSigmoidAttrs::alpha, "alpha", "Slope."), field(&HardSigmoidAttrs::beta, "beta", "Value at 0."));
};

OpDef hard_sigmoid() {
  return pointwise<HardSigmoidAttrs>(
      {.op = {.name = "hard_sigmoid",
              .python = {"nd.hard_sigmoid"},
              .doc = "alpha * x + beta cut off at 0 and 1, element by element.",
              .samples = {uniform({2, 3})}},
       .formula = [](Expr x, Expr alpha, Expr beta) { return min(max(alpha * x + beta, 0), 1); },
       .gradient = [](Expr, Expr y, Expr dy, Expr alpha,
                      Expr) { return select(logical_and(y > 0, y < 1), dy * alpha, 0); }});
}

struct SmoothL1Attrs {
  double scalar = 1;
  static constexpr auto kFields =
      fields(field(&SmoothL1Attrs::scalar, "scalar", "Where the parabola ends: 1 / scalar^2."));
};

OpDef smooth_l1() {
  return pointwise<SmoothL1Attrs>({.op = {.name = "smooth_l1",
                                          .aliases = {"_npx_smooth_l1"},
                                          .python = {"nd.smooth_l1", "npx.smooth_l1"},
                                          .doc = "(scalar * x)^2 / 2 where |x| < 1 / scalar^2, |x| - 0.5 / scalar^2 "
                                                 "elsewhere: a parabola that continues "
                                                 "as straight lines.",
                                          .samples = {uniform({2, 3})}},
                                   .formula =
                                       [](Expr x, Expr scalar) {
                                         Expr s = scalar * scalar;
                                         return select(abs(x) < 1 / s, 0.5 * s * x * x, abs(x) - 0.5 / s);
                                       },
                                   .gradient =
                                       [](Expr x, Expr, Expr dy, Expr scalar) {
                                         Expr s = scalar * scalar;
                                         return dy * select(abs(x) < 1 / s, s * x, sign(x));
                                       },
                                   .dtypes = dtype_rules::numeric_by_doubles});
}

}  // namespace

Operators activation_operators() {
  Operators operators = make_unary(activation_rows());
  operators.push_back(softrelu());
  operators.push_back(activation());
  operators.append(rectifiers());
  operators.push_back(leaky_relu());
  operators.push_back(hard_sigmoid());
  operators.push_back(smooth_l1());
  return operators;
}

}  // namespace headrace
